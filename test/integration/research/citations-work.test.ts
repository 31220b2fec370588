import assert from 'node:assert/strict';
import { CitedAnswer } from '../../../src/research/answer/cited-answer.ts';
import { ClaimChecker } from '../../../src/research/claims/claim-checker.ts';
import { MAX_PIECE_LENGTH } from '../../../src/research/run/live-steps.ts';
import { citedAnswer, readSources } from '../../support/cited-answer.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';

const sources = readSources('https://s1.example/page', 'https://s2.example/page');

/** What costs a scanner most: things that never close, look like one another, or must be looked at to their end. */
const HOSTILE = [
  '[',
  '[1',
  '[1,',
  '[1]',
  '[source_id ',
  '【1†',
  `【1†${'x'.repeat(59)}`,
  '[^',
  '[[1]',
  '[1](',
  '](a ',
  ']: a ',
  '<a ',
  '<a href="',
  '![',
  '<b ',
  '- ~~~](a\n',
  '[2024]',
  '［',
  '`',
  '` `` ',
  '`\n',
  '`[1]\n',
  '`a\n`` ',
  '`` a ` b\n',
  '```\n',
  '~~~',
  '> ',
  '- ',
  '\n- ```',
  '12. ',
  '\n\n',
  'h',
  'http',
  'https://',
  'corpus://',
  'https://a[1',
  'https://a[[[[[[[[',
  'https://a)',
  '(https://x.y/',
  'http://[',
  'https://a.b/c[1]',
  'https://s1.example/page ',
  'https://s1.example/page[1',
  'https://a.example/((((',
  'https://中',
  'plain words ',
  '🎉',
  '\ud83c',
  'a'.repeat(50),
];

/** How many characters may be looked at per character of an answer: a piece takes far less than 5 ms. */
const LOOKS = 80;
/** How many characters a failed anchored expression counts as; it looks at fewer. */
const MISS = 64;

/**
 * Characters that are looked at during `work`: those that regular expressions go over, and those that are searched. Steps
 * instead of time, which says how busy the machine is.
 */
function looksOf(work: () => void): number {
  let looks = 0;
  const { exec } = RegExp.prototype;
  const { indexOf } = String.prototype;
  RegExp.prototype.exec = function counted(text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const found = exec.call(this, text);
    const anchored = this.sticky || this.source.startsWith('^');
    const missed = anchored ? Math.min(text.length - from, MISS) : text.length - from;
    looks += 1 + (found ? found.index + found[0].length - from : missed);
    return found;
  };
  String.prototype.indexOf = function counted(searched: string, from = 0) {
    const found = indexOf.call(this, searched, from);
    looks += 1 + (found === -1 ? this.length : found) - Math.min(from, this.length);
    return found;
  };
  try {
    work();
  } finally {
    Object.assign(RegExp.prototype, { exec });
    Object.assign(String.prototype, { indexOf });
  }
  return looks;
}

const SAID = 'The lake is deep [1-20]. It is old [3][4][5]. See https://s1.example/page for more.';

describe('the work of scanning an answer', () => {
  it('checks at most one source per step, however many a marker names', async () => {
    const many = readSources(...Array.from({ length: 20 }, (_, at) => `https://s${at}.example/page`));
    const claims = await ClaimChecker.of({ results: new Map(), calls: new Map() });
    let checks = 0;
    const { check } = claims;
    claims.check = (...claim) => {
      checks++;
      return check.apply(claims, claim);
    };
    const answer = new CitedAnswer(many, undefined, { claims });
    const before = new CitedAnswer(many, undefined, { claims }).push(SAID);
    checks = 0;
    let all = 0;
    let text = '';
    for (const step of answer.pushInSteps(SAID)) {
      assert.ok(checks <= 1, `${checks} checks in a step`);
      all += checks;
      checks = 0;
      text += step.text;
    }
    assert.equal(text, before.text);
    // The first marker names twenty sources, those after it three.
    assert.ok(all >= 20, `${all} checks in all`);
  });

  for (const unit of HOSTILE) {
    it(`is bounded per piece: ${JSON.stringify(unit).slice(0, 40)}`, () => {
      const text = unit.repeat(Math.ceil(100_000 / unit.length));
      const answer = new CitedAnswer(sources);
      let worst = 0;
      for (let at = 0; at < text.length; at += MAX_PIECE_LENGTH) {
        const piece = text.slice(at, at + MAX_PIECE_LENGTH);
        worst = Math.max(worst, looksOf(() => void answer.push(piece)) / piece.length);
      }
      assert.ok(worst <= LOOKS, `${worst.toFixed(1)} looks a character`);
    });
  }
});

describe('an answer that is renumbered while it streams', () => {
  it('stays fast on endless brackets, back-ticks, schemes and fences', () => {
    for (const unit of [
      '[',
      '[1',
      '`',
      '` `` ',
      'https://',
      '[1,',
      '> ',
      '```\n',
      '【1†',
      'h',
      '- ',
      '`[1]\n',
      'https://a[1',
    ]) {
      const text = unit.repeat(Math.ceil(200_000 / unit.length));
      const ms = ownMs(() => citedAnswer(text, sources, { length: 4000 }));
      assert.ok(!isSlow(ms, 3000), JSON.stringify(unit));
    }
  });
});
