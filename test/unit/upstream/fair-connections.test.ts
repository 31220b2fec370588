import assert from 'node:assert/strict';
import { runInScope } from '../../../src/base/load/event-loop.ts';
import type { AttemptFailure } from '../../../src/upstream/routing/attempt-failure.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';
import { ProviderCall } from '../../../src/upstream/transport/provider-call.ts';
import { json, startScriptedProvider } from '../../support/scripted-provider.ts';

const LIMITS = { first_byte: 60_000, idle: 60_000 };

/** A pool of two connections to a provider that answers when it is told to. */
async function openNarrow() {
  const stack = new AsyncDisposableStack();
  const answers: (() => void)[] = [];
  const provider = stack.use(
    await startScriptedProvider({
      respond: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        answers.push(resolve);
        const script = json({});
        return { ...script, steps: [{ do: 'until', promise }, ...script.steps] };
      },
    }),
  );
  const pool = stack.use(new ConnectionPool({ connections: 2, connectMs: 5000 }));
  const call = (key: string, { limits = LIMITS, signal = new AbortController().signal } = {}) =>
    runInScope({ key }, () => {
      const receiver = () => ({ data: () => {}, end: () => 'answered', broken: () => 'broken' });
      const unanswered = ({ kind, unhealthy, message }: AttemptFailure) =>
        `${unhealthy ? 'unhealthy' : 'healthy'} ${kind}: ${message}`;
      const made = new ProviderCall<string>({ receiver, unanswered, signal }, limits);
      const origin = `http://127.0.0.1:${provider.port}`;
      const headers = { 'content-type': 'application/json' };
      return made.send(pool, { method: 'POST', origin, path: '/v1/x', headers, body: JSON.stringify({ model: key }) });
    });
  const owners = () => provider.requests.map(({ body }) => body.model);
  const answer = async (n: number) => {
    await provider.waitForRequest(n + 1);
    answers[n]?.();
  };
  return { provider, pool, call, owners, answer, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('the connections to a provider', () => {
  it('are given to keys in turns', async () => {
    await using narrow = await openNarrow();
    const calls = [...Array.from({ length: 20 }, () => narrow.call('ann')), narrow.call('bob'), narrow.call('cid')];
    for (let n = 0; n < calls.length; n += 1) await narrow.answer(n);
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(['answered']));
    assert.deepEqual(narrow.owners().slice(0, 4), ['ann', 'ann', 'bob', 'cid']);
  });

  it('are free for others when a call that waits for one is left, or is over its time limit', async () => {
    await using narrow = await openNarrow();
    const running = [narrow.call('ann'), narrow.call('ann')];
    const leaving = new AbortController();
    const left = narrow.call('bob', { signal: leaving.signal });
    const late = narrow.call('cid', { limits: { ...LIMITS, first_byte: 50 } });
    leaving.abort(new Error('left'));
    await assert.rejects(left, /left/);
    assert.equal(await late, 'healthy timeout: no connection of `max_connections` was free within 50 ms');
    assert.equal(narrow.pool.waiting, 0, 'nothing is kept of a call that is over');
    const last = narrow.call('dan');
    for (let n = 0; n < 3; n += 1) await narrow.answer(n);
    assert.deepEqual(await Promise.all([...running, last]), ['answered', 'answered', 'answered']);
    assert.deepEqual(narrow.owners(), ['ann', 'ann', 'dan']);
  });
});
