import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { connectInTurn } from '../../../src/upstream/transport/connect-in-turn.ts';

describe('connectInTurn', () => {
  function setUp() {
    const clock = { now: 0 };
    const made: buildConnector.Callback[] = [];
    const connect = connectInTurn((_options, callback) => void made.push(callback), {
      timeoutMs: 1000,
      now: () => clock.now,
    });
    const results: (number | string)[] = [];
    const ask = (n: number): void =>
      connect(
        { hostname: 'provider', protocol: 'http:', port: '80' },
        (...[error]) => void results.push(error?.message ?? n),
      );
    return { clock, made, results, ask };
  }

  it('makes a bounded number of connections at a time, in the order of the requests', () => {
    const { made, results, ask } = setUp();
    for (let n = 0; n < 1000; n++) ask(n);
    const atOnce = made.length;
    assert.ok(atOnce > 10 && atOnce < 500, `${atOnce} at once`);
    for (let n = 0; n < 1000; n++) made.shift()?.(null, new Socket());
    assert.deepEqual(
      results,
      Array.from({ length: 1000 }, (_, n) => n),
    );
  });

  it('fails all that have waited as long as the one that timed out', () => {
    const { clock, made, results, ask } = setUp();
    for (let n = 0; n < 600; n++) ask(n);
    const atOnce = made.length;
    clock.now = 600;
    ask(600);
    clock.now = 1000;
    made.shift()?.(new Error('timed out'), null);
    assert.equal(results.filter((result) => result === 'timed out').length, 600 - atOnce + 1);
    assert.equal(made.length, atOnce, 'the next connection takes the free place');
  });

  it('goes on after refused connections', () => {
    const { made, results, ask } = setUp();
    for (let n = 0; n < 600; n++) ask(n);
    for (let n = 0; n < 600; n++) made.shift()?.(new Error('refused'), null);
    assert.equal(results.length, 600);
  });
});
