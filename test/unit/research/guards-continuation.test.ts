import assert from 'node:assert/strict';
import { Continuation } from '../../../src/research/answer/continuation.ts';

function continued(before: string, pieces: readonly string[]): string {
  const continuation = new Continuation(before);
  return pieces.map((piece) => continuation.push(piece)).join('') + continuation.end();
}

const BEGIN = 'The harbour of Elmsworth was opened in 1871 by the mayor, who paid for it. ';
const MIDDLE = 'It has three cranes and a ferry. ';
const OTHER = 'Three cranes and one ferry stand there. ';
const END = 'The mill burned down in 1902, and only its wheel is left. ';

describe('an answer that is started again in other words', () => {
  it('is joined after the last words that were delivered', () => {
    const before = `${BEGIN}${MIDDLE}The mill burned`;
    const again = `${BEGIN}${OTHER}${END}`;
    for (const pieces of [[again], [...again]])
      assert.equal(continued(before, pieces), ' down in 1902, and only its wheel is left. ');
  });

  it('is not shown twice, even if the last words are missing from it', () => {
    const before = `${BEGIN}${MIDDLE}So much for the quay`;
    const shown = continued(before, [`${BEGIN}${OTHER}${END}`]);
    assert.ok(!shown.includes('harbour'), shown);
    assert.ok(shown.endsWith('only its wheel is left. '));
  });

  it('yields nothing if it adds nothing', () => {
    assert.equal(continued(`${BEGIN}${MIDDLE}${END}`, [`${BEGIN}${OTHER}`]), '');
  });

  it('is not assumed if it only starts with the same words', () => {
    const rest = `The harbour is ${'still in use today, as all sources say. '.repeat(6)}`;
    assert.equal(continued(`${BEGIN}${MIDDLE}`, [...rest]), rest);
  });
});
