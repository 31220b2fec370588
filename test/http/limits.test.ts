import assert from 'node:assert/strict';
import { GatewayError } from '../../src/base/errors.ts';
import { newRunId } from '../../src/base/ids.ts';
import type { ProxyCall } from '../../src/gateway/model-proxy.ts';
import { Admission, drivenMs } from '../../src/http/limits/admission.ts';
import { LostHolds } from '../../src/http/limits/lost-holds.ts';
import type { Runs } from '../../src/runs/runs.ts';
import { memoryLimits } from '../../src/store/memory-limits.ts';
import { noUsage } from '../../src/upstream/turn.ts';
import { emptyTotals } from '../../src/upstream/usage-totals.ts';
import { assertRefused, ended, type SendOptions, send } from '../support/http-client.ts';
import { openGateway, until } from '../support/http-gateway.ts';

const key = 'limited';
const ask = (input: string, fields: object = {}): SendOptions => ({
  key,
  body: { model: 'deep', input, background: true, ...fields },
});
const refused = (code: string) => ({ status: 429, code, type: 'rate_limit_error', param: null });

describe('a process whose event loop lags', () => {
  it('refuses proxy calls while it is busy, without counting them', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 1 } });
    const call: SendOptions = { key, body: { model: 'gpt', input: 'a' } };
    const run = await send(gateway, 'POST /v1/responses', { ...ask('wait'), key: 'bob' });
    await until(async () => ((await gateway.runs.countOpen()).inProgress === 1 ? true : undefined));
    gateway.load.lagMs = 300;
    const answer = await send(gateway, 'POST /v1/embeddings', call);
    assertRefused(answer, { status: 503, code: 'overloaded', type: 'api_error', param: null });
    assert.equal(answer.headers.get('retry-after'), '2');
    assert.equal(answer.headers.get('x-should-retry'), 'true');
    gateway.load.lagMs = 20;
    assert.equal((await send(gateway, 'POST /v1/embeddings', call)).status, 200);
    await send(gateway, `DELETE /v1/responses/${run.json.id}`, { key: 'bob' });
  });

  it('refuses nothing while it is idle', async () => {
    await using gateway = await openGateway();
    gateway.load.lagMs = 10_000;
    const call: SendOptions = { key, body: { model: 'gpt', input: 'a' } };
    for (let n = 0; n < 3; n++) assert.equal((await send(gateway, 'POST /v1/embeddings', call)).status, 200);
    assert.equal((await send(gateway, 'POST /v1/responses', ask('hello'))).status, 200);
  });

  it('refuses a proxy call while another one is under way', async () => {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using gateway = await openGateway({
      proxy: async ({ res }) => {
        reached.resolve();
        await gate.promise;
        res.end('{}');
      },
    });
    gateway.load.lagMs = 10_000;
    const call: SendOptions = { key, body: { model: 'gpt', input: 'a' } };
    const first = send(gateway, 'POST /v1/embeddings', call);
    await reached.promise;
    assert.equal((await send(gateway, 'POST /v1/embeddings', call)).status, 503);
    gate.resolve();
    assert.equal((await first).status, 200);
  });
});

describe('requests_per_minute', () => {
  it('counts submissions of every interface and reports the remaining ones', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 4 } });
    const messages = [{ role: 'user', content: 'hello' }];
    const left: (string | null)[] = [];
    for (const [target, body] of [
      ['POST /v1/responses', { model: 'deep', input: 'hello' }],
      ['POST /v1/async', { model: 'deep', messages }],
      ['POST /v1/chat/completions', { model: 'deep', messages }],
      ['POST /v1/embeddings', { model: 'gpt', input: 'a' }],
    ] as const) {
      const { headers, status } = await send(gateway, target, { key, body });
      assert.ok(status < 300);
      assert.equal(headers.get('x-ratelimit-limit-requests'), '4');
      assert.match(headers.get('x-ratelimit-reset-requests') ?? '', /^(\d+ms|\d+s|1m0s)$/);
      left.push(headers.get('x-ratelimit-remaining-requests'));
    }
    assert.deepEqual(left, ['3', '2', '1', '0']);
    const over = await send(gateway, 'POST /v1/responses', ask('hello'));
    assertRefused(over, refused('rate_limit_exceeded'));
    assert.equal(over.headers.get('x-ratelimit-remaining-requests'), '0');
  });

  it('does not count polling, lists, cancel, delete, or invalid requests', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 2 } });
    const { json } = await send(gateway, 'POST /v1/responses', ask('hello'));
    for (const target of [
      `GET /v1/responses/${json.id}`,
      'GET /v1/responses',
      'GET /v1/models',
      `POST /v1/responses/${json.id}/cancel`,
      `DELETE /v1/responses/${json.id}`,
    ]) {
      const answer = await send(gateway, target, { key });
      assert.equal(answer.status, 200, target);
      assert.equal(answer.headers.get('x-ratelimit-limit-requests'), null, target);
    }
    assert.equal((await send(gateway, 'POST /v1/responses', ask('hello', { temperature: 9 }))).status, 400);
    const second = await send(gateway, 'POST /v1/responses', ask('hello'));
    assert.equal(second.headers.get('x-ratelimit-remaining-requests'), '0');
  });

  it('is counted per key', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 1 } });
    await send(gateway, 'POST /v1/responses', ask('hello'));
    const other = await send(gateway, 'POST /v1/responses', { ...ask('hello'), key: 'bob' });
    assert.equal(other.status, 200);
    assert.equal(other.headers.get('x-ratelimit-limit-requests'), null);
  });

  it('is refunded if the run cannot be queued', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 1 }, runs: { max_queued: 0 } });
    const overloaded = await send(gateway, 'POST /v1/responses', ask('hello'));
    assertRefused(overloaded, { status: 503, code: 'overloaded' });
    assert.equal(overloaded.headers.get('x-should-retry'), 'true');
    assertRefused(await send(gateway, 'POST /v1/responses', ask('hello')), { status: 503, code: 'overloaded' });
  });
});

describe('a run that was admitted but could not be stored', () => {
  it('uses up no limit of its key', async () => {
    const wrapRuns = (runs: Runs): Runs => {
      const failing: Runs = Object.create(runs);
      failing.submit = async ({ admit }) => {
        await admit?.('00000000-0000-4000-8000-000000000000', { waits: false });
        throw new GatewayError('store_unavailable', 'The disk is full.');
      };
      return failing;
    };
    const limits = { requests_per_minute: 1, concurrent_runs: 1, tokens_per_day: 10 };
    await using gateway = await openGateway({ limits, wrapRuns });
    for (let n = 0; n < 3; n++) {
      const answer = await send(gateway, 'POST /v1/responses', ask('hello'));
      assertRefused(answer, { status: 503, code: 'store_unavailable' });
    }
  });
});

describe('concurrent_runs', () => {
  it('limits open runs; a refused request uses no requests_per_minute', async () => {
    await using gateway = await openGateway({ limits: { concurrent_runs: 2, requests_per_minute: 3 } });
    const first = await send(gateway, 'POST /v1/responses', ask('wait'));
    await send(gateway, 'POST /v1/responses', ask('wait'));
    for (let n = 0; n < 5; n++) {
      const over = await send(gateway, 'POST /v1/responses', ask('wait'));
      assertRefused(over, refused('concurrency_limit_exceeded'));
      assert.ok(Number(over.headers.get('retry-after')) >= 1);
    }
    await send(gateway, `POST /v1/responses/${first.json.id}/cancel`, { key });
    const next = await until(async () => {
      const answer = await send(gateway, 'POST /v1/responses', ask('wait'));
      return answer.status === 200 ? answer : undefined;
    });
    assert.equal(next.headers.get('x-ratelimit-remaining-requests'), '0');
  });

  it('cannot be exceeded by parallel requests', async () => {
    await using gateway = await openGateway({ limits: { concurrent_runs: 3 } });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => send(gateway, 'POST /v1/responses', ask('wait'))),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
  });

  it('frees the slots of runs that failed, were cancelled, deleted or abandoned', async () => {
    await using gateway = await openGateway({ limits: { concurrent_runs: 1 } });
    const free = (input: string) =>
      until(async () => {
        const answer = await send(gateway, 'POST /v1/responses', ask(input));
        return answer.status === 200 ? String(answer.json.id) : undefined;
      });
    await free('fail');
    const cancelled = await free('wait');
    await send(gateway, `POST /v1/responses/${cancelled}/cancel`, { key });
    const deleted = await free('wait');
    await send(gateway, `DELETE /v1/responses/${deleted}`, { key });
    const leave = new AbortController();
    const chat = until(async () => {
      const answer = await send(gateway, 'POST /v1/chat/completions', {
        key,
        body: { model: 'deep', messages: [{ role: 'user', content: 'wait' }] },
        signal: leave.signal,
      });
      return answer.status === 200 ? answer : undefined;
    });
    await until(async () => ((await gateway.runs.countOpen()).inProgress === 1 ? true : undefined));
    leave.abort();
    await assert.rejects(chat);
    await free('hello');
  });

  it('counts runs while they are queued, and then for as long as they may last', async () => {
    const clock = { now: 0 };
    const maxMinutes = 60;
    const runMs = drivenMs(maxMinutes * 60_000);
    const runs = { max_concurrent: 1, max_minutes: maxMinutes };
    await using gateway = await openGateway({ limits: { concurrent_runs: 2 }, runs, limitsNow: () => clock.now });
    const submitted = () => send(gateway, 'POST /v1/responses', ask('wait'));
    const first = await send(gateway, 'POST /v1/responses', { ...ask('wait'), key: 'ann' });
    assert.deepEqual([first.status, (await submitted()).status, (await submitted()).status], [200, 200, 200]);
    clock.now = runMs;
    assertRefused(await submitted(), refused('concurrency_limit_exceeded'));
    await send(gateway, `POST /v1/responses/${first.json.id}/cancel`);
    await until(async () => ((await gateway.runs.countOpen()).queued === 1 ? true : undefined));
    clock.now += runMs - 1;
    assertRefused(await submitted(), refused('concurrency_limit_exceeded'));
    await gateway.release();
    await until(async () => ((await submitted()).status === 200 ? true : undefined));
    assertRefused(await submitted(), refused('concurrency_limit_exceeded'));
  });

  it('reclaims the slots of ended and never stored runs when none is left', async () => {
    const clock = { now: 0 };
    await using gateway = await openGateway({ limits: { concurrent_runs: 2 } });
    const store = gateway.storage.limits;
    const lost = new LostHolds({ limits: store, runs: gateway.storage.runs, clock: { now: () => clock.now } });
    const place = store.slots({ name: 'runs' });
    const limit = { kind: 'place', name: 'runs', limit: 2, ttlMs: 1 } as const;
    const hold = async (id: string) =>
      assert.equal(await place.take('limited', id, { limit: 2, ttlMs: 600_000 }), true);
    const { json } = await send(gateway, 'POST /v1/responses', ask('hello'));
    await ended({ url: gateway.url }, String(json.id), key);
    const endedId = String(json.id).slice('resp_'.length);
    await until(async () => ((await place.count('limited')) === 0 ? true : undefined));
    const { json: running } = await send(gateway, 'POST /v1/responses', ask('wait'));

    await hold(endedId);
    assert.equal(
      (await send(gateway, 'POST /v1/responses', ask('hello'))).status,
      200,
      'the place of an ended run is free',
    );
    await until(async () => ((await place.count('limited')) === 1 ? true : undefined));

    // The run may still be about to be stored, and the gateway checked within the last seconds.
    await hold('00000000-0000-4000-8000-000000000000');
    assertRefused(await send(gateway, 'POST /v1/responses', ask('hello')), refused('concurrency_limit_exceeded'));
    assert.equal(await lost.release(limit, 'limited'), false);
    clock.now = 4000;
    await place.take('limited', endedId, { limit: 9, ttlMs: 600_000 });
    assert.equal(
      await lost.release(limit, 'limited'),
      false,
      'a key that was checked a moment ago is not checked again',
    );
    clock.now = 60_000;
    assert.equal(await lost.release(limit, 'limited'), true, 'the place of a run that was never stored is free');
    assert.deepEqual(await place.holders('limited'), [String(running.id).slice('resp_'.length)]);
  });

  it('shows no slot and no reservation of a run that has ended, although its process died before it released them', async () => {
    const limits = { concurrent_runs: 2, tokens_per_day: 5000 };
    await using gateway = await openGateway({ limits });
    const { json } = await send(gateway, 'POST /v1/responses', ask('hello'));
    await ended({ url: gateway.url }, String(json.id), key);
    const id = String(json.id).slice('resp_'.length);
    const store = gateway.storage.limits;
    const place = store.slots({ name: 'runs' });
    const budget = store.budget({ name: 'tokens', windowSeconds: 86_400 });
    await until(async () => ((await place.count(key)) === 0 ? true : undefined));
    const before = (await budget.used(key)).used;
    const clock = { now: () => Date.now() + 10_000 };
    const lost = new LostHolds({ limits: store, runs: gateway.storage.runs, clock });
    const limited = gateway.parts.config.current().keys.find((each) => each.id === key) ?? assert.fail();
    await place.take(key, id, { limit: 2, ttlMs: 600_000 });
    await budget.reserve(key, id, { points: 1000, limit: 5000, ttlMs: 600_000 });
    await budget.note(key, id, { spent: 7, ttlMs: 600_000 });
    const shown = await new Admission(store, () => ({}), lost).usage(limited);
    assert.deepEqual(
      shown.map(({ used }) => used),
      [0, before + 7],
    );
  });

  it('does not count proxy calls', async () => {
    await using gateway = await openGateway({ limits: { concurrent_runs: 1 } });
    await send(gateway, 'POST /v1/responses', ask('wait'));
    const body = { model: 'gpt', messages: [] };
    assert.equal((await send(gateway, 'POST /v1/chat/completions', { key, body })).status, 200);
  });
});

describe('cost_per_day', () => {
  it('reserves every token of a run as input and as output, because later turns read what earlier ones wrote', async () => {
    const routes = [{ provider: 'demo', model: 'demo', price: { input: 1, output: 1000 } }];
    const priced = { kind: 'research', routes, max_completion_tokens: 1000, context_length: 10_000 };
    await using gateway = await openGateway({ limits: { cost_per_day: 1000 }, models: { priced } });
    await send(gateway, 'POST /v1/responses', ask(`wait ${'word '.repeat(4000)}`, { model: 'priced' }));
    const { keys } = gateway.parts.config.current();
    const [cost] = await gateway.parts.admission.usage(keys.find((each) => each.id === key) ?? assert.fail());
    assert.ok(cost && cost.used > 5, JSON.stringify(cost));
  });
});

describe('tokens_per_day', () => {
  it('counts what an ended run noted last if nobody knows more', async () => {
    const store = memoryLimits(Date.now);
    const budget = store.budget({ name: 'tokens', windowSeconds: 86_400 });
    const run = { keyId: key, id: newRunId(), held: { tokens: 1000 }, runMs: 1000 };
    const admission = new Admission(store);
    await admission.renewRun(run);
    await admission.noteRunUsage({ ...run, used: { ...emptyTotals(), inputTokens: 7 } });
    assert.equal(budget.used(key).used, 1000);
    await admission.settleRun({ ...run, used: undefined });
    assert.equal(budget.used(key).used, 7);
  });

  it('refuses once they are used up, with a retry-after beyond what clients wait', async () => {
    // A run of the test gateway uses 100 tokens.
    await using gateway = await openGateway({ limits: { tokens_per_day: 150 } });
    for (const _ of [1, 2]) {
      const { json, status } = await until(async () => {
        const answer = await send(gateway, 'POST /v1/responses', ask('hello'));
        return answer.status === 200 ? answer : undefined;
      });
      assert.equal(status, 200);
      await ended({ url: gateway.url }, String(json.id), key);
    }
    const over = await until(async () => {
      const answer = await send(gateway, 'POST /v1/responses', ask('hello'));
      // Until the last reservation is settled, retry-after is short.
      return answer.status === 429 && answer.headers.get('retry-after') !== '2' ? answer : undefined;
    });
    assertRefused(over, refused('quota_exceeded'));
    assert.equal(over.headers.get('x-should-retry'), 'false');
    assert.ok(Number(over.headers.get('retry-after')) > 3600);
  });

  it('cannot be exceeded by parallel requests', async () => {
    await using gateway = await openGateway({ limits: { tokens_per_day: 2500 } });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => send(gateway, 'POST /v1/responses', ask('wait'))),
    );
    // Each may write 1 000 tokens.
    assert.equal(answers.filter(({ status }) => status === 200).length, 2);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertRefused(answer, refused('quota_exceeded'));
      assert.equal(answer.headers.get('retry-after'), '2', 'none of them is used up yet');
    }
  });

  it('reclaims what ended and never stored runs have reserved if a request would be refused for it', async () => {
    const clock = { now: Date.now() };
    await using gateway = await openGateway({ limits: { tokens_per_day: 150 }, limitsNow: () => clock.now });
    const window = { name: 'tokens', windowSeconds: 86_400 };
    const budget = gateway.limits.budget(window);
    const hold = async (id: string, points: number) => {
      await budget.reserve('limited', id, { points, limit: 1000, ttlMs: 86_400_000, lasting: true });
    };
    const { json } = await send(gateway, 'POST /v1/responses', ask('hello'));
    await ended({ url: gateway.url }, String(json.id), key);
    await until(async () => ((await budget.used('limited')).used === 100 ? true : undefined));
    const endedId = String(json.id).slice('resp_'.length);
    await hold(endedId, 50);
    await budget.note('limited', endedId, { spent: 7, ttlMs: 86_400_000 });
    await hold('00000000-0000-4000-8000-000000000000', 30);
    await hold('a-call', 1);
    assertRefused(await send(gateway, 'POST /v1/responses', ask('hello')), refused('quota_exceeded'));
    assert.equal((await budget.used('limited')).used, 181, 'the run may be settled any moment, the other be stored');
    clock.now += 20_000;
    assertRefused(await send(gateway, 'POST /v1/responses', ask('hello')), refused('quota_exceeded'));
    assert.deepEqual(await budget.holders('limited'), ['00000000-0000-4000-8000-000000000000', 'a-call']);
    assert.equal((await budget.used('limited')).used, 138, 'what was noted is counted');
    clock.now += 60_000;
    assertRefused(await send(gateway, 'POST /v1/responses', ask('hello')), refused('quota_exceeded'));
    assert.deepEqual(await budget.holders('limited'), ['a-call'], 'a call is no run that was never stored');
    await budget.settle('limited', 'a-call', { points: 1, spent: 0 });
    assert.equal((await send(gateway, 'POST /v1/responses', ask('hello'))).status, 200);
  });

  it('counts what the provider of a proxy model reported', async () => {
    const proxy = async ({ res, account }: ProxyCall) => {
      res.end('{}');
      const usage = { ...noUsage(), inputTokens: 40_000 };
      account.attempt({ price: undefined }, { api: 'chat_completions', body: null }).reported(usage, { whole: true });
    };
    await using gateway = await openGateway({ limits: { tokens_per_day: 50_000 }, proxy });
    const call = () => send(gateway, 'POST /v1/chat/completions', { key, body: { model: 'gpt', messages: [] } });
    assert.deepEqual([(await call()).status, (await call()).status], [200, 200]);
    assertRefused(await call(), refused('quota_exceeded'));
  });
});

describe('idempotency (docs/api.md, "In general")', () => {
  const chat = { model: 'deep', messages: [{ role: 'user', content: 'hello' }] };

  it('the same Idempotency-Key and body return the same run, for all API keys of a user', async () => {
    await using gateway = await openGateway();
    const headers = { 'idempotency-key': 'k-1' };
    const first = await send(gateway, 'POST /v1/async', { body: chat, headers });
    const again = await send(gateway, 'POST /v1/async', { body: chat, headers });
    const other = await send(gateway, 'POST /v1/async', { body: chat, headers, key: 'ann2' });
    assert.deepEqual([first.status, again.status, other.status], [201, 201, 201]);
    assert.equal(again.text, first.text);
    assert.equal(other.text, first.text);
    const marks = [first, again, other].map((answer) => answer.headers.get('idempotent-replayed'));
    assert.deepEqual(marks, [null, 'true', 'true']);
    const list = await send(gateway, 'GET /v1/async');
    assert.equal(Array.isArray(list.json.tasks) && list.json.tasks.length, 1);
  });

  it('keys belong to a user', async () => {
    await using gateway = await openGateway();
    const headers = { 'idempotency-key': 'k-1' };
    const mine = await send(gateway, 'POST /v1/async', { body: chat, headers });
    const theirs = await send(gateway, 'POST /v1/async', { body: { ...chat, max_tokens: 7 }, headers, key: 'bob' });
    assert.equal(theirs.status, 201);
    assert.notEqual(theirs.json.id, mine.json.id);
  });

  it('the same body on another endpoint is a different request', async () => {
    await using gateway = await openGateway();
    const headers = { 'idempotency-key': 'k-1' };
    const body = { ...chat, input: 'hello', background: true };
    assert.equal((await send(gateway, 'POST /v1/async', { body, headers })).status, 201);
    const answer = await send(gateway, 'POST /v1/responses', { body, headers });
    assertRefused(answer, { status: 422, code: 'idempotency_key_reused' });
  });

  it('a stream is replayed from its first event', async () => {
    await using gateway = await openGateway();
    const options = { body: { model: 'deep', input: 'hello' }, headers: { 'idempotency-key': 'k-2' } };
    const first = await send(gateway, 'POST /v1/responses', options);
    const again = await send(gateway, 'POST /v1/responses', options);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  });

  it('concurrent requests become one run', async () => {
    await using gateway = await openGateway();
    const options = { body: chat, headers: { 'idempotency-key': 'k-3' } };
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(gateway, 'POST /v1/async', options)));
    assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
    assert.equal(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
  });

  it('replays count against no limit', async () => {
    await using gateway = await openGateway({ limits: { requests_per_minute: 1, concurrent_runs: 1 } });
    const options = { ...ask('wait'), headers: { 'idempotency-key': 'k-4' } };
    const first = await send(gateway, 'POST /v1/responses', options);
    for (let n = 0; n < 3; n++) {
      const again = await send(gateway, 'POST /v1/responses', options);
      assert.deepEqual([again.status, again.json.id], [200, first.json.id]);
      assert.equal(again.headers.get('x-ratelimit-limit-requests'), null);
    }
  });

  it('a replay that only the store notices, as when two instances get one request, holds nothing either', async () => {
    await using gateway = await openGateway({
      limits: { requests_per_minute: 5, concurrent_runs: 2, tokens_per_day: 100_000 },
    });
    const options = { ...ask('wait'), headers: { 'idempotency-key': 'k-7' } };
    const first = await send(gateway, 'POST /v1/responses', options);
    const used = async () => {
      const { keys } = gateway.parts.config.current();
      return await gateway.parts.admission.usage(keys.find((each) => each.id === key) ?? assert.fail());
    };
    const before = await used();
    Object.assign(gateway.storage.runs, { findKey: async () => undefined });
    for (let n = 0; n < 3; n++) {
      const again = await send(gateway, 'POST /v1/responses', options);
      assert.deepEqual([again.status, again.json.id], [200, first.json.id]);
    }
    await until(async () => (JSON.stringify(await used()) === JSON.stringify(before) ? true : undefined));
  });

  it('a refused request does not claim its key', async () => {
    await using gateway = await openGateway({ limits: { concurrent_runs: 1 } });
    const running = await send(gateway, 'POST /v1/responses', ask('wait'));
    const options = { ...ask('hello'), headers: { 'idempotency-key': 'k-5' } };
    assertRefused(await send(gateway, 'POST /v1/responses', options), refused('concurrency_limit_exceeded'));
    await send(gateway, `POST /v1/responses/${running.json.id}/cancel`, { key });
    const answer = await until(async () => {
      const tried = await send(gateway, 'POST /v1/responses', options);
      return tried.status === 200 ? tried : undefined;
    });
    assert.equal(answer.headers.get('idempotent-replayed'), null);
    const invalid = { body: { model: 'deep' }, headers: { 'idempotency-key': 'k-6' } };
    assert.equal((await send(gateway, 'POST /v1/async', invalid)).status, 400);
    assert.equal((await send(gateway, 'POST /v1/async', { ...invalid, body: chat })).status, 201);
  });

  it('a key of more than 255 characters is refused', async () => {
    await using gateway = await openGateway();
    const headers = { 'idempotency-key': 'x'.repeat(256) };
    const answer = await send(gateway, 'POST /v1/async', { body: chat, headers });
    assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'Idempotency-Key' });
    const longest = { 'idempotency-key': 'x'.repeat(255) };
    assert.equal((await send(gateway, 'POST /v1/async', { body: chat, headers: longest })).status, 201);
  });

  describe('retries of the official SDKs', () => {
    const first = { 'x-stainless-retry-count': '0' };
    const retry = { 'x-stainless-retry-count': '1' };

    it('a retry with the same API key and body returns the same run', async () => {
      await using gateway = await openGateway({ limits: { requests_per_minute: 1 } });
      const sent = await send(gateway, 'POST /v1/responses', { ...ask('hello'), headers: first });
      const again = await send(gateway, 'POST /v1/responses', { ...ask('hello'), headers: retry });
      assert.deepEqual([again.status, again.json.id], [200, sent.json.id]);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
    });

    it('a first attempt is always a new run', async () => {
      await using gateway = await openGateway();
      const ids = new Set<unknown>();
      for (const headers of [first, first, {}]) {
        ids.add((await send(gateway, 'POST /v1/async', { body: chat, headers })).json.id);
      }
      assert.equal(ids.size, 3);
      const again = await send(gateway, 'POST /v1/async', { body: chat, headers: retry });
      assert.equal(again.json.id, [...ids].at(-1), 'a retry gets the task of the last attempt');
    });

    it('another body or another API key starts a new run', async () => {
      await using gateway = await openGateway();
      const sent = await send(gateway, 'POST /v1/async', { body: chat, headers: first });
      const body = { ...chat, max_tokens: 3 };
      const others = [
        await send(gateway, 'POST /v1/async', { body, headers: retry }),
        await send(gateway, 'POST /v1/async', { body: chat, headers: retry, key: 'ann2' }),
      ];
      for (const other of others) {
        assert.equal(other.status, 201);
        assert.notEqual(other.json.id, sent.json.id);
        assert.equal(other.headers.get('idempotent-replayed'), null);
      }
    });

    it('a retry of a refused request or a deleted run starts a new run', async () => {
      await using gateway = await openGateway({ limits: { concurrent_runs: 1 } });
      const running = await send(gateway, 'POST /v1/responses', ask('wait'));
      assert.equal((await send(gateway, 'POST /v1/responses', { ...ask('hello'), headers: first })).status, 429);
      await send(gateway, `DELETE /v1/responses/${running.json.id}`, { key });
      const answer = await until(async () => {
        const tried = await send(gateway, 'POST /v1/responses', { ...ask('hello'), headers: retry });
        return tried.status === 200 ? tried : undefined;
      });
      assert.equal(answer.headers.get('idempotent-replayed'), null);
      await ended(gateway, String(answer.json.id), key);
      const replay = await until(async () => {
        const tried = await send(gateway, 'POST /v1/responses', { ...ask('wait'), headers: retry });
        return tried.status === 200 ? tried : undefined;
      });
      assert.notEqual(replay.json.id, running.json.id);
    });

    it('chat completions are never replayed', async () => {
      await using gateway = await openGateway();
      const sent = await send(gateway, 'POST /v1/chat/completions', { body: chat, headers: first });
      const again = await send(gateway, 'POST /v1/chat/completions', { body: chat, headers: retry });
      assert.notEqual(again.json.id, sent.json.id);
    });
  });
});

describe('an unlimited key', () => {
  it('has no reader waiting for its runs', async () => {
    const waits: string[] = [];
    const wrapRuns = (runs: Runs): Runs => {
      const watched: Runs = Object.create(runs);
      for (const name of ['submit', 'find', 'response', 'follow'] as const) {
        Object.defineProperty(watched, name, { value: runs[name].bind(runs) });
      }
      watched.waitForEnd = (run, options) => {
        waits.push(run.id);
        return runs.waitForEnd(run, options);
      };
      return watched;
    };
    await using gateway = await openGateway({ wrapRuns });
    await send(gateway, 'POST /v1/responses', { ...ask('hello'), key: 'bob' });
    assert.deepEqual(waits, []);
  });
});
