import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { AttemptFailure } from '../../../src/upstream/routing/attempt-failure.ts';
import type { AttemptReport } from '../../../src/upstream/routing/attempts.ts';
import { TurnError } from '../../../src/upstream/turn.ts';
import { timeoutsFor } from '../../support/provider-faults.ts';
import { frames, hang, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { ask, chat, config, FAST, finishOf, QUESTION, textOf } from './chat-harness.ts';

const failsWith =
  (kind: string, details: { retryAfterMs?: number } = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof TurnError, String(error));
    assert.deepEqual([error.kind, error.started, error.retryAfterMs], [kind, false, details.retryAfterMs]);
    return true;
  };

describe('routes', () => {
  it('are tried in order, each twice, before the next round', async () => {
    const order: string[] = [];
    const answering = (name: string) =>
      startScriptedProvider({
        respond: () => {
          order.push(name);
          return order.length < 5 ? status(503) : turn({ text: name });
        },
      });
    await using a = await answering('a');
    await using b = await answering('b');
    const { upstream, model } = chat(config({ a: { base_url: a.url }, b: { base_url: b.url } }));
    await using _ = upstream;
    assert.equal(textOf(await ask(model)), 'a');
    // Each is tried twice at once: a passing fault is often gone by the next request.
    assert.deepEqual(order, ['a', 'a', 'b', 'b', 'a']);
  });

  it('fail as timeout if all time out, as rate_limit if all limit, else as failed', async () => {
    await using slow = await startScriptedProvider({ respond: () => hang() });
    await using limiting = await startScriptedProvider({
      respond: () => status(429, { headers: { 'retry-after-ms': '7' } }),
    });
    const timeouts = timeoutsFor({ silent: 'first_byte' });
    const one = (provider: { url: string }) => ({ base_url: provider.url, timeouts, max_retries: 0 });
    const cases: [Record<string, object>, string, number | undefined][] = [
      [{ a: one(slow), b: one(slow) }, 'timeout', undefined],
      [{ a: one(limiting), b: one(limiting) }, 'rate_limit', 7],
      [{ a: one(slow), b: one(limiting) }, 'failed', 7],
    ];
    for (const [providers, kind, wait] of cases) {
      const { upstream, model } = chat(config(providers));
      await using _ = upstream;
      await assert.rejects(ask(model), failsWith(kind, wait === undefined ? {} : { retryAfterMs: wait }));
    }
  });

  it('that are all limited are waited for where the pause is shorter', async () => {
    const { signal } = new AbortController();
    const clock = { now: () => now };
    let now = 1000;
    const parsed = config({ a: { base_url: 'http://a.example' }, b: { base_url: 'http://b.example' } });
    const { upstream } = chat(parsed, { clock, backoff: { ...FAST, patienceMs: 60_000 } });
    await using _ = upstream;
    const { deep } = parsed.models;
    assert.ok(deep);
    const walk = () => upstream.attempts({ modelName: 'deep', model: deep, key: parsed.keys[0] }).walk({ signal });
    let pause = 50_000;
    for await (const attempt of walk()) {
      const details = { kind: 'rate_limit', advice: 'again', retryAfterMs: pause } as const;
      attempt.failed(new AttemptFailure('it limits our rate', details), { delivered: false });
      if (attempt.route.provider.name === 'b') break;
      pause = 5000;
    }
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const next = walk().next();
      await setImmediate();
      now += 5000;
      mock.timers.tick(5000);
      const attempt = await Promise.race([next, setImmediate()]);
      assert.equal(attempt?.value?.route.provider.name, 'b');
    } finally {
      mock.timers.reset();
    }
  });

  it('with a larger context are tried if the request does not fit, smaller ones are not', async () => {
    const refusing = () =>
      startScriptedProvider({ respond: () => status(400, { message: 'maximum context length is 8 tokens' }) });
    await using small = await refusing();
    await using smaller = await refusing();
    await using large = await startScriptedProvider({ respond: () => turn({ text: 'large' }) });
    const parsed = configSchema.parse({
      providers: {
        small: { base_url: small.url },
        smaller: { base_url: smaller.url },
        large: { base_url: large.url },
      },
      models: {
        deep: {
          kind: 'research',
          routes: [
            { provider: 'small', model: 'm', context_length: 8000 },
            { provider: 'smaller', model: 'm', context_length: 4000 },
            { provider: 'large', model: 'm', context_length: 128_000 },
          ],
        },
      },
      keys: [{ id: 'k', secret: 'client-secret' }],
    });
    const { upstream, model } = chat(parsed);
    await using _ = upstream;
    for (let turns = 0; turns < 7; turns += 1) assert.equal(textOf(await ask(model)), 'large');
    assert.deepEqual([smaller.requests.length, large.requests.length], [0, 7]);
    assert.ok(upstream.states().every(({ usable }) => usable));
  });

  it('are asked after one whose limit per minute is too small, which holds up no other request', async () => {
    const message =
      'Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 31538.';
    const error = { message, type: 'tokens', param: null, code: 'rate_limit_exceeded' };
    await using limited = await startScriptedProvider({ respond: () => status(429, { body: { error } }) });
    await using other = await startScriptedProvider({ respond: () => turn({ text: 'other' }) });
    const parsed = configSchema.parse({
      providers: { limited: { base_url: limited.url }, other: { base_url: other.url } },
      models: {
        deep: {
          kind: 'research',
          routes: ['limited', 'other'].map((provider) => ({ provider, model: 'm', context_length: 128_000 })),
        },
      },
      keys: [{ id: 'k', secret: 'client-secret' }],
    });
    const { upstream, model } = chat(parsed);
    await using _ = upstream;
    for (let turns = 0; turns < 5; turns += 1) assert.equal(textOf(await ask(model)), 'other');
    assert.equal(limited.requests.length, 5, 'a smaller request may pass');
    limited.respond = () => frames([{ error }], { done: false });
    assert.equal(textOf(await ask(model)), 'other');
    limited.respond = () => turn({ text: 'limited' });
    assert.equal(textOf(await ask(model)), 'limited');
  });

  it('are asked once each if all refuse the length, and fail as context_length', async () => {
    await using small = await startScriptedProvider({
      respond: () => status(400, { message: 'maximum context length is 8 tokens' }),
    });
    await using other = await startScriptedProvider({ respond: () => status(413) });
    const { upstream, model } = chat(config({ a: { base_url: small.url }, b: { base_url: other.url } }));
    await using _ = upstream;
    await assert.rejects(ask(model), failsWith('context_length'));
    assert.deepEqual([small.requests.length, other.requests.length], [1, 1]);
  });

  it('are not waited for if they ask for more patience than allowed', async () => {
    await using provider = await startScriptedProvider({
      respond: () => status(429, { headers: { 'retry-after': '600' } }),
    });
    const { upstream, model } = chat(config({ only: { base_url: provider.url } }));
    await using _ = upstream;
    await assert.rejects(ask(model), failsWith('rate_limit', { retryAfterMs: 600_000 }));
    await assert.rejects(ask(model), (error) => error instanceof TurnError && error.kind === 'rate_limit');
    assert.equal(provider.requests.length, 1, 'the second turn calls no provider');
  });

  it('wait as long as the provider asks, unless the client leaves', async () => {
    await using provider = await startScriptedProvider({
      respond: (_, n) => (n === 0 ? status(503, { headers: { 'retry-after-ms': '80' } }) : turn({ text: 'fine' })),
    });
    const { upstream, model } = chat(config({ only: { base_url: provider.url } }));
    await using _ = upstream;
    assert.equal(textOf(await ask(model)), 'fine');

    provider.respond = () => status(503, { headers: { 'retry-after-ms': '2900' } });
    const client = new AbortController();
    const turnOfClient = Array.fromAsync(model.turn(QUESTION, { signal: client.signal }));
    await provider.waitForRequest(3);
    await provider.waitForActive(0);
    client.abort(new Error('the client left'));
    await assert.rejects(turnOfClient, /the client left/);
    assert.equal(provider.requests.length, 3);
  });

  it('are asked again once the time that they asked for has passed at another route', async () => {
    let now = 1_000_000;
    await using busy = await startScriptedProvider({
      respond: (_, n) => (n === 0 ? status(504, { headers: { 'retry-after': '60' } }) : turn({ text: 'fine' })),
    });
    await using slow = await startScriptedProvider({
      respond: () => {
        now += 60_000;
        return status(400);
      },
    });
    const { upstream, model } = chat(config({ busy: { base_url: busy.url }, slow: { base_url: slow.url } }), {
      clock: { now: () => now },
    });
    await using _ = upstream;
    assert.equal(textOf(await ask(model)), 'fine');
  });

  it('are skipped for a while if they keep failing, then probed', async () => {
    let now = 1_000_000;
    await using bad = await startScriptedProvider({ respond: () => status(500) });
    await using good = await startScriptedProvider({ respond: () => turn({ text: 'good' }) });
    const { upstream, model } = chat(config({ bad: { base_url: bad.url }, good: { base_url: good.url } }), {
      clock: { now: () => now },
      // So long that no probe in the background, which goes by real time, comes in between.
      breaker: { failures: 2, openMs: 60_000, maxOpenMs: 60_000, probeMs: 60_000 },
    });
    await using _ = upstream;
    for (let i = 0; i < 5; i += 1) assert.equal(textOf(await ask(model)), 'good');
    assert.equal(bad.requests.length, 2);
    assert.deepEqual(
      upstream.states().map(({ name, usable }) => ({ name, usable })),
      [
        { name: 'bad', usable: false },
        { name: 'good', usable: true },
      ],
    );
    now += 60_001;
    bad.respond = () => turn({ text: 'healed' });
    assert.equal(textOf(await ask(model)), 'healed');
    assert.equal(textOf(await ask(model)), 'healed');
    assert.deepEqual(
      upstream.states().map(({ usable }) => usable),
      [true, true],
    );
  });

  it('are tried anyway if all circuits are open', async () => {
    await using provider = await startScriptedProvider({
      respond: (_, n) => (n < 2 ? status(500) : turn({ text: 'healed' })),
    });
    const { upstream, model } = chat(config({ only: { base_url: provider.url, max_retries: 1 } }), {
      breaker: { failures: 1, openMs: 60_000, maxOpenMs: 60_000, probeMs: 60_000 },
    });
    await using _ = upstream;
    await assert.rejects(ask(model), failsWith('failed'));
    assert.equal(textOf(await ask(model)), 'healed');
  });

  it('of one provider slow down together after a 429', async () => {
    let most = 0;
    let limited = true;
    await using provider = await startScriptedProvider({
      respond: async () => {
        most = Math.max(most, provider.activeRequests);
        return limited ? status(429, { headers: { 'retry-after-ms': '30' } }) : turn({ text: 'fine', pace: 2 });
      },
    });
    const { upstream } = chat(config({ only: { base_url: provider.url, max_retries: 10 } }));
    await using _ = upstream;
    const { deep } = config({ only: { base_url: provider.url } }).models;
    assert.ok(deep);
    const models = Array.from({ length: 8 }, () => upstream.chatModel({ modelName: 'deep', model: deep }));
    const turns = models.map((model) => ask(model));
    await provider.waitForRequest(8);
    limited = false;
    most = 0;
    for (const parts of await Promise.all(turns)) assert.equal(textOf(parts), 'fine');
    assert.ok(most < 8, `${most} at once after the limit`);
  });

  it('of one provider are limited each for itself: the next model is asked at once', async () => {
    await using provider = await startScriptedProvider({
      respond: ({ body }) =>
        body.model === 'large' ? status(429, { headers: { 'retry-after': '600' } }) : turn({ text: 'small' }),
    });
    const routes = ['large', 'small'].map((model) => ({ provider: 'only', model }));
    const { upstream, model } = chat(
      configSchema.parse({
        providers: { only: { base_url: provider.url } },
        models: { deep: { kind: 'research', routes } },
        keys: [{ id: 'k', secret: 's' }],
      }),
    );
    await using _ = upstream;
    for (const requests of [2, 3]) {
      assert.equal(textOf(await ask(model)), 'small');
      assert.equal(provider.requests.length, requests);
    }
  });

  it('are left for the next one if all their places are taken by long streams', async () => {
    await using a = await startScriptedProvider({
      respond: (_, n) => (n === 0 ? hang() : status(429, { headers: { 'retry-after-ms': '1' } })),
    });
    await using b = await startScriptedProvider({ respond: () => turn({ text: 'b' }) });
    const { upstream, model } = chat(config({ a: { base_url: a.url }, b: { base_url: b.url } }));
    await using _ = upstream;
    const client = new AbortController();
    const long = Array.fromAsync(model.turn(QUESTION, { signal: client.signal }));
    await a.waitForRequest(1);
    assert.equal(textOf(await ask(model)), 'b');
    assert.equal(textOf(await ask(model)), 'b');
    assert.equal(a.requests.length, 2);
    client.abort(new Error('the client left'));
    await assert.rejects(long, /the client left/);
  });

  it('are given up if another call was told to wait for too long', async () => {
    const gate = Promise.withResolvers<void>();
    await using provider = await startScriptedProvider({
      respond: async (_, n) => {
        if (n > 0) return status(429, { headers: { 'retry-after': '600' } });
        await gate.promise;
        return status(500);
      },
    });
    const { upstream, model } = chat(config({ only: { base_url: provider.url } }));
    await using _ = upstream;
    const failed = assert.rejects(ask(model), failsWith('failed'));
    await provider.waitForRequest(1);
    await assert.rejects(ask(model), failsWith('rate_limit', { retryAfterMs: 600_000 }));
    gate.resolve();
    await failed;
    assert.equal(provider.requests.length, 2);
  });

  it('count the tokens of failed attempts that produced something', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 };
    await using provider = await startScriptedProvider({
      respond: (_, n) =>
        n === 0
          ? {
              ...turn(),
              steps: [{ do: 'send', bytes: `data: ${JSON.stringify({ choices: [], usage })}\n\n` }, { do: 'cut' }],
            }
          : turn({ text: 'fine', usage }),
    });
    const { upstream, model } = chat(config({ only: { base_url: provider.url } }));
    await using _ = upstream;
    const finish = finishOf(await ask(model));
    assert.deepEqual([finish.usage.inputTokens, finish.usage.outputTokens], [200, 10]);
  });

  it('report attempts to the observer, and log failures without credentials', async () => {
    const lines: string[] = [];
    const destination = new Writable({
      write(line, _, done) {
        lines.push(String(line));
        done();
      },
    });
    const reports: AttemptReport[] = [];
    await using bad = await startScriptedProvider({
      respond: () => status(500, { message: 'boom canary-secret Bearer canary-secret' }),
    });
    await using good = await startScriptedProvider();
    const { upstream, model } = chat(
      config({
        bad: { base_url: bad.url, api_key: 'canary-secret', headers: { 'x-key': 'canary-header' } },
        good: { base_url: good.url },
      }),
      { log: createLogger({ destination }), observe: (report) => reports.push(report), backoff: FAST },
    );
    await using _ = upstream;
    await ask(model);
    assert.deepEqual(
      reports.map(({ provider, outcome, status: code, model: name }) => [provider, outcome, code, name]),
      [
        ['bad', 'failed', 500, 'deep'],
        ['bad', 'failed', 500, 'deep'],
        ['good', 'ok', undefined, 'deep'],
      ],
    );
    assert.match(lines.join(''), /provider bad failed in round 1: HTTP status 500: boom/);
    assert.doesNotMatch(lines.join(''), /canary/);
  });
});
