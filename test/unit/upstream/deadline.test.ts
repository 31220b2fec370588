import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Deadline } from '../../../src/upstream/transport/deadline.ts';

describe('Deadline', () => {
  let now = 0;
  let told: string[] = [];
  const limitOf = (options = {}) => new Deadline((phase, ms) => told.push(`${phase} ${ms}`), options);
  const pass = (ms: number) => {
    now += ms;
    mock.timers.tick(ms);
  };

  beforeEach(() => {
    now = 0;
    told = [];
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => now);
  });
  afterEach(() => mock.reset());

  it('reports once when it is over, with the phase', () => {
    const limit = limitOf();
    limit.enter('headers', 100);
    pass(99);
    assert.deepEqual(told, []);
    pass(1);
    assert.deepEqual(told, ['headers 100']);
    pass(1000);
    assert.deepEqual(told, ['headers 100']);
  });

  it('applies the limit of the phase entered last, longer or shorter', () => {
    const limit = limitOf();
    limit.enter('headers', 100);
    limit.enter('first token', 500);
    pass(400);
    assert.deepEqual(told, []);
    limit.enter('idle', 20);
    pass(20);
    assert.deepEqual(told, ['idle 20']);
  });

  it('starts no timer for a phase that ends later, and one for a phase that ends sooner', () => {
    const limit = limitOf();
    const set = mock.method(globalThis, 'setTimeout');
    limit.enter('headers', 100);
    limit.enter('first token', 100);
    limit.enter('idle', 300);
    assert.equal(set.mock.callCount(), 1);
    pass(100);
    assert.deepEqual(told, []);
    pass(100);
    limit.enter('first token', 50);
    pass(50);
    assert.deepEqual(told, ['first token 50']);
  });

  it('restarts with every chunk of its phase', () => {
    const limit = limitOf();
    limit.enter('idle', 100);
    for (let n = 0; n < 10; n++) {
      pass(60);
      limit.touch();
    }
    assert.deepEqual(told, []);
    pass(100);
    assert.deepEqual(told, ['idle 100']);
  });

  it('waits once more if the process was stalled', () => {
    const limit = limitOf();
    limit.enter('idle', 100);
    now += 5000;
    mock.timers.tick(100);
    assert.deepEqual(told, []);
    limit.touch();
    pass(1000);
    assert.deepEqual(told, ['idle 100']);
  });

  it('bounds the whole call, whatever its phases do', () => {
    const limit = limitOf({ totalMs: 250 });
    for (let n = 0; n < 3; n++) {
      limit.enter('idle', 100);
      pass(50);
      limit.pause();
    }
    pass(99);
    assert.deepEqual(told, []);
    pass(1);
    assert.deepEqual(told, ['total 250']);
  });

  it('restarts only the idle phase with a chunk', () => {
    const limit = limitOf();
    limit.enter('first token', 100);
    pass(60);
    limit.touch();
    pass(40);
    assert.deepEqual(told, ['first token 100']);
  });

  it('pauses while the client is slow', () => {
    const limit = limitOf();
    limit.enter('idle', 100);
    limit.pause();
    pass(10_000);
    assert.deepEqual(told, []);
    limit.resume();
    pass(100);
    assert.deepEqual(told, ['idle 100']);
  });
});
