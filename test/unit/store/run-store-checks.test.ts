import assert from 'node:assert/strict';
import { checkAppend } from '../../../src/store/run-store-checks.ts';
import { ending, events } from '../../contract/run-store-fixture.ts';

describe('checkAppend', () => {
  it('accepts the first event of a log, and a transcript without events', () => {
    checkAppend(events('token', 1, 1));
    checkAppend({ token: 'token', first: 1, count: 0, frames: new Uint8Array(), transcript: ['{}'] });
  });

  it('refuses invalid numbers, frames without a count, and an end without its frame', () => {
    const batch = events('token', 3, 3);
    const wrong = (change: Partial<typeof batch>, message: RegExp) =>
      assert.throws(() => checkAppend({ ...batch, ...change }), message);
    for (const first of [0, -1, 1.5, Number.NaN]) wrong({ first }, /first must be 1 or more/);
    for (const count of [-1, 0.5, Number.NaN]) wrong({ count }, /count must be 0 or more/);
    wrong({ count: 0 }, /frames without a count/);
    wrong(
      { ...ending('token', 3, 'completed'), count: 0, frames: new Uint8Array() },
      /the end needs its terminal frame/,
    );
  });
});
