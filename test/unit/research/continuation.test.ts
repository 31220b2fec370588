import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Continuation } from '../../../src/research/answer/continuation.ts';

/** What a reader sees after `before` when the continuation comes in these pieces. */
function continued(before: string, pieces: readonly string[]): string {
  const continuation = new Continuation(before);
  return pieces.map((piece) => continuation.push(piece)).join('') + continuation.end();
}

const BEFORE = 'Runs survive because their log is written first. Every reader follows';
const REST = ' it, on any instance, at any time, and sees the same bytes. '.repeat(4);

describe('Continuation', () => {
  it('passes on what is new, in whatever pieces it arrives', () => {
    assert.equal(continued(BEFORE, [REST]), REST);
    assert.equal(continued(BEFORE, [...REST]), REST);
  });

  it('drops what repeats the end of the delivered text', () => {
    for (const overlap of [12, 20, 40, BEFORE.length])
      assert.equal(continued(BEFORE, [...(BEFORE.slice(-overlap) + REST)]), REST, String(overlap));
  });

  it('drops what repeats the end of the delivered text from further back', () => {
    const rows = Array.from({ length: 9 }, (_, n) => `Row ${n} is the one about thing ${n * 7}.`);
    const before = `${rows.join(' ')}\n\n${BEFORE}`;
    for (const overlap of [161, 200, before.length - 40, before.length - 1])
      assert.equal(continued(before, [...(before.slice(-overlap) + REST)]), REST, String(overlap));
    const other = `${before.slice(-200, -20)}but this is new. ${REST}`;
    assert.equal(continued(before, [...other]), other, 'what goes on differently is no repeat');
    assert.equal(continued(before, [...before.slice(-200, -20)]), '');
  });

  it('holds back no more than it takes to tell', () => {
    const heldBack = (before: string, text: string) => {
      const continuation = new Continuation(before);
      return [...text].findIndex((letter) => continuation.push(letter) !== '');
    };
    const rows = Array.from({ length: 9 }, (_, n) => `Row ${n} is the one about thing ${n * 7}.`).join(' ');
    assert.equal(heldBack(rows, `Now something else. ${REST}`), 159, 'new text');
    assert.equal(heldBack(rows, `${rows.slice(-200)}${REST}`), 200, 'after the end of a repeat');
    assert.equal(heldBack(rows, `${rows.slice(-200, -20)}but ${REST}`), 180, 'where it differs');
    assert.equal(heldBack(rows, `${rows}${REST}`), rows.length, 'after all of it');
    assert.equal(heldBack('Tea', 'is old'), 0);
    assert.equal(heldBack('Tea', 'Tea is old'), 3);
  });

  it('drops white space and dots before a repeat, and keeps them before new text', () => {
    for (const lead of ['\n\n', '...', '… ']) {
      assert.equal(continued(BEFORE, [...`${lead}${BEFORE.slice(-20)}${REST}`]), REST, lead);
      assert.equal(continued(BEFORE, [...`${lead}${BEFORE}${REST}`]), REST, lead);
      assert.equal(continued(BEFORE, [...`${lead}${REST}`]), `${lead}${REST}`, lead);
      assert.equal(continued('No', [...`${lead}, not so.`]), `${lead}, not so.`, lead);
    }
  });

  it('drops the delivered text if the model starts again', () => {
    assert.equal(continued(BEFORE, [...(BEFORE + REST)]), REST);
    const long = `${BEFORE}. `.repeat(20);
    assert.equal(continued(long, [long.slice(0, 500), long.slice(500), REST]), REST);
  });

  it('does not begin with half of a character if the model writes the text again in other words', () => {
    const rewritten = `${BEFORE.slice(0, 64)}${'!'.repeat(BEFORE.length - 65)}😀${REST}`;
    assert.equal(continued(BEFORE, [rewritten]), REST);
  });

  it('keeps a short match, which may be chance', () => {
    assert.equal(continued('It is what it', [' is']), ' is');
    assert.equal(continued('the the', [' the end']), ' the end');
    assert.equal(continued('Ha', [' Ha, no']), ' Ha, no');
  });

  it('passes everything on at once if nothing was delivered', () => {
    const continuation = new Continuation('');
    assert.equal(continuation.push('H'), 'H');
    assert.equal(continuation.push('i'), 'i');
    assert.equal(continuation.end(), '');
  });

  it('yields nothing if all of it is repeated', () => {
    assert.equal(continued(BEFORE, [BEFORE]), '');
    assert.equal(continued(BEFORE, []), '');
  });

  it('yields the same text for any cut and any pieces', () => {
    const whole = Array.from({ length: 60 }, (_, n) => `Sentence number ${n} tells of thing ${n * 7}.`).join(' ');
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: whole.length - 1 }),
        fc.nat({ max: 150 }),
        fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 40 }),
        (cut, overlap, lengths) => {
          const repeated = Math.min(overlap, cut) < 12 ? 0 : Math.min(overlap, cut);
          let rest = whole.slice(cut - repeated);
          const pieces = lengths.map((length) => {
            const piece = rest.slice(0, length);
            rest = rest.slice(length);
            return piece;
          });
          assert.equal(whole.slice(0, cut) + continued(whole.slice(0, cut), [...pieces, rest]), whole);
        },
      ),
      { seed: 3, numRuns: 300 },
    );
  });
});
