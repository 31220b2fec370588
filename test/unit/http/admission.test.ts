import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { mock } from 'node:test';
import { GatewayError } from '../../../src/base/errors.ts';
import { configSchema, type KeyConfig } from '../../../src/config/schema.ts';
import { Admission, drivenMs } from '../../../src/http/limits/admission.ts';
import { memoryLimits } from '../../../src/store/memory-limits.ts';
import { emptyTotals, type UsageTotals } from '../../../src/upstream/usage-totals.ts';

function keyWith(limits: object): KeyConfig {
  const config = configSchema.parse({
    providers: {},
    models: {},
    keys: [{ id: 'k', secret: 'sk-of-the-test', limits }],
  });
  const [key] = config.keys;
  assert.ok(key);
  return key;
}

function setUp(limits: object) {
  const clock = { now: 0 };
  const admission = new Admission(memoryLimits(() => clock.now));
  const key = keyWith(limits);
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  const admit = async (id: string, options: { tokens?: number; runMs?: number; waits?: boolean } = {}) =>
    await admission.admit({
      key,
      id,
      tokens: options.tokens ?? 1,
      runMs: options.runMs ?? 1000,
      waits: options.waits ?? false,
      res,
    });
  return { admit, admission, res, clock };
}

function used(tokens: number, cost = 0): UsageTotals {
  return { ...emptyTotals(), outputTokens: tokens, cost };
}

const refused = (code: string) => (thrown: unknown) => thrown instanceof GatewayError && thrown.code === code;

/** The second that these runs may last, and the time to write their answer. */
const DRIVEN_MS = drivenMs(1000);

describe('Admission', () => {
  it('frees a place that nobody released after the maximum run time', async () => {
    const { admit, clock } = setUp({ concurrent_runs: 1 });
    await admit('a');
    clock.now = DRIVEN_MS - 1;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    clock.now = DRIVEN_MS;
    await admit('b');
  });

  it('keeps the place of a waiting run, and limits it from its start', async () => {
    const { admit, admission, clock } = setUp({ concurrent_runs: 1, tokens_per_day: 100 });
    const { held } = await admit('a', { waits: true, tokens: 60 });
    clock.now = 3_600_000;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    await admission.renewRun({ id: 'a', keyId: 'k', held, runMs: 1000 });
    clock.now += DRIVEN_MS - 1;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    clock.now += 1;
    await admit('b', { tokens: 60 });
  });

  it('counts a continued run again whose place was forgotten, even beyond the limit', async () => {
    const { admit, admission } = setUp({ concurrent_runs: 1 });
    await admit('a');
    const held = { place: true };
    await admission.renewRun({ id: 'of before', keyId: 'k', held, runMs: 1000 });
    await admission.settleRun({ id: 'a', keyId: 'k', held, used: used(0, 0) });
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    await admission.settleRun({ id: 'of before', keyId: 'k', held, used: used(0, 0) });
    await admit('b');
  });

  it('frees only the place of the settled run, and ignores a second settle', async () => {
    const { admit } = setUp({ concurrent_runs: 2 });
    const first = await admit('a');
    await admit('b');
    await first.settle();
    await first.settle();
    await admit('c');
    await assert.rejects(admit('d'), refused('concurrency_limit_exceeded'));
  });

  it('gives back what was taken once, however often it is asked', async () => {
    const { admit } = setUp({ concurrent_runs: 1, requests_per_minute: 3, tokens_per_day: 100 });
    const first = await admit('a', { tokens: 60 });
    await first.undo();
    await first.undo();
    await first.settle(used(0, 0));
    const second = await admit('b', { tokens: 60 });
    await second.settle(used(50, 0));
    await second.settle(used(0, 0));
    await second.undo();
    await (await admit('c', { tokens: 50 })).settle(used(50, 0));
    await assert.rejects(admit('d', { tokens: 1 }), refused('quota_exceeded'));
  });

  it('gives back a request once, even if undone twice', async () => {
    const { admit, res } = setUp({ requests_per_minute: 3 });
    await admit('a');
    const undone = await admit('b');
    await undone.undo();
    await undone.undo();
    await admit('c');
    assert.equal(res.getHeader('x-ratelimit-remaining-requests'), '1');
  });

  it('gives back request, place and tokens on undo', async () => {
    const { admit, res } = setUp({ concurrent_runs: 1, requests_per_minute: 2, tokens_per_day: 100 });
    for (let n = 0; n < 5; n++) await (await admit(`a${n}`, { tokens: 90 })).undo();
    await admit('b', { tokens: 90 });
    assert.equal(res.getHeader('x-ratelimit-remaining-requests'), '1');
  });

  it('keeps no place or tokens for a request refused by the rate limit', async () => {
    const { admit } = setUp({ concurrent_runs: 2, requests_per_minute: 1, tokens_per_day: 100 });
    await (await admit('a', { tokens: 10 })).settle(used(10, 0));
    for (let n = 0; n < 20; n++) await assert.rejects(admit(`b${n}`, { tokens: 10 }), refused('rate_limit_exceeded'));
  });

  it('admits parallel requests only if their tokens fit together, and a lone one with what is left', async () => {
    const { admit } = setUp({ tokens_per_day: 100 });
    const first = await admit('a', { tokens: 60 });
    const soon = { code: 'quota_exceeded', retryAfterMs: 2000 };
    await assert.rejects(admit('b', { tokens: 60 }), soon, 'it fits once the other one has ended');
    await first.settle(used(50, 0));
    const second = await admit('c', { tokens: 60 });
    await second.settle(used(60, 0));
    await assert.rejects(admit('d', { tokens: 1 }), { code: 'quota_exceeded', retryAfterMs: 86_400_000 });
  });

  it('counts tokens beyond the reservation', async () => {
    const { admit } = setUp({ tokens_per_day: 100 });
    await (await admit('a', { tokens: 10 })).settle(used(99, 0));
    await (await admit('b', { tokens: 10 })).settle(used(10, 0));
    await assert.rejects(admit('c', { tokens: 1 }), refused('quota_exceeded'));
  });

  it('admits one request even if it exceeds the whole limit', async () => {
    const { admit } = setUp({ tokens_per_day: 5 });
    await (await admit('a', { tokens: 1_000_000 })).settle(used(1_000_000, 0));
    await assert.rejects(admit('b'), refused('quota_exceeded'));
  });

  it('holds nothing for a key without limits', async () => {
    const { admit, res } = setUp({});
    assert.deepEqual((await admit('a')).held, {});
    assert.deepEqual(res.getHeaderNames(), []);
    const { admit: limited } = setUp({ concurrent_runs: 1 });
    assert.deepEqual((await limited('a')).held, { place: true });
  });

  it('uses no id twice, since something may still be given back under it', async () => {
    const counted = memoryLimits(() => 0);
    const ids: string[] = [];
    const admission = new Admission({
      ...counted,
      take(holder, requests) {
        ids.push(holder.id);
        return counted.take(holder, requests);
      },
    });
    const key = keyWith({ tokens_per_day: 100 });
    const call = async () => await (await admission.admit({ key, tokens: 1 })).settle(used(1, 0));
    for (let n = 0; n < 3; n++) await call();
    assert.equal(new Set(ids).size, 3);
  });

  /** An admission over limits that list the names of their calls. */
  function listing() {
    const calls: string[] = [];
    const store = new Proxy(
      memoryLimits(() => 0),
      {
        get(of, name) {
          const method: unknown = Reflect.get(of, name);
          if (typeof method !== 'function') return method;
          return (...args: unknown[]) => {
            calls.push(String(name));
            return Reflect.apply(method, of, args);
          };
        },
      },
    );
    return { admission: new Admission(store), calls };
  }

  it('does not call the store for a run of a key without limits', async () => {
    const { admission, calls } = listing();
    const { held } = await admission.admit({ key: keyWith({}), id: 'a', runMs: 1000, tokens: 1 });
    const run = { id: 'a', keyId: 'k', held, runMs: 1000, used: used(10, 1) };
    await admission.renewRun(run);
    await admission.noteRunUsage(run);
    assert.equal(await admission.settleRun(run), true);
    assert.deepEqual(calls, []);
  });

  it('notes the usage of a call when it grows, and nothing after its end', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const { admission, calls } = listing();
      let soFar = used(5);
      const key = keyWith({ tokens_per_day: 100 });
      const call = await admission.admit({ key, tokens: 20, usedSoFar: () => soFar });
      const notes = () => calls.filter((name) => name === 'note').length;
      mock.timers.tick(1000);
      assert.equal(notes(), 1);
      mock.timers.tick(3000);
      assert.equal(notes(), 1, 'it has used nothing more');
      soFar = used(6);
      mock.timers.tick(1000);
      assert.equal(notes(), 2);
      await call.settle(soFar);
      soFar = used(7);
      mock.timers.tick(5000);
      assert.equal(notes(), 2);
    } finally {
      mock.timers.reset();
    }
  });

  it('applies team limits to all keys of the team, beside their own', async () => {
    const clock = { now: 0 };
    const teams = { sales: { limits: { concurrent_runs: 2, tokens_per_day: 100, cost_per_month: 1 } } };
    const admission = new Admission(
      memoryLimits(() => clock.now),
      () => teams,
    );
    const [ann, bob] = ['ann', 'bob'].map((id) => ({ ...keyWith({ tokens_per_day: 80 }), id, team: 'sales' }));
    assert.ok(ann && bob);
    const run = async (key: KeyConfig, id: string, tokens: number) =>
      await admission.admit({ key, id, runMs: 1000, tokens, cost: 0.1 });
    const first = await run(ann, 'a', 60);
    assert.deepEqual(first.held, {
      tokens: 60,
      team: { id: 'sales', place: true, tokens: 60, monthCost: 100_000 },
    });
    await assert.rejects(run(bob, 'b', 60), (thrown) => {
      assert.ok(refused('quota_exceeded')(thrown));
      assert.match(String(thrown), /this key's team/);
      return true;
    });
    const second = await run(bob, 'c', 40);
    await assert.rejects(run(bob, 'd', 1), refused('concurrency_limit_exceeded'));
    // It travels with the run, as JSON; the team's configuration may have changed by then.
    const held = JSON.parse(JSON.stringify(second.held));
    await admission.settleRun({ id: 'c', keyId: 'bob', held, used: used(10, 0.25) });
    await first.settle(used(20, 0.5));
    assert.deepEqual(await admission.usage(ann), [
      { name: 'tokens_per_day', limit: 80, used: 20 },
      { name: 'team concurrent_runs', limit: 2, used: 0 },
      { name: 'team tokens_per_day', limit: 100, used: 30 },
      { name: 'team cost_per_month', limit: 1, used: 0.75 },
    ]);
    await assert.rejects(
      run(bob, 'e', 79).then(() => run(ann, 'f', 60)),
      refused('quota_exceeded'),
    );
  });

  it('frees tokens_per_minute with the next minute, and counts a run in the minute it ends', async () => {
    const { admit, admission, clock } = setUp({ tokens_per_minute: 100 });
    const call = async (tokens: number) => await admission.admit({ key: keyWith({ tokens_per_minute: 100 }), tokens });
    const run = await admit('a', { tokens: 5000 });
    await admission.noteRunUsage({ id: 'a', keyId: 'k', held: run.held, runMs: 1000, used: used(90) });
    await (await call(90)).settle(used(50));
    await run.settle(used(60));
    await assert.rejects(call(1), refused('rate_limit_exceeded'));
    clock.now = 60_000;
    await (await call(90)).undo();
  });

  it('forgets monthly cost after thirty days', async () => {
    const { admission, clock } = setUp({});
    const key = keyWith({ cost_per_month: 1 });
    const call = async (cost: number) => await admission.admit({ key, tokens: 1, cost });
    await (await call(0.5)).settle(used(1, 1));
    clock.now = 29 * 86_400_000;
    await assert.rejects(call(0.1), refused('quota_exceeded'));
    clock.now = 30 * 86_400_000;
    await call(0.5);
  });

  it('lets anyone who ends a run free what it held', async () => {
    const limits = { concurrent_runs: 1, tokens_per_day: 100 };
    const { admit, admission } = setUp(limits);
    const { held } = await admit('a', { tokens: 90 });
    assert.deepEqual(held, { place: true, tokens: 90 });
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    // It travels with the run, as JSON.
    await admission.settleRun({ id: 'a', keyId: 'k', held: JSON.parse(JSON.stringify(held)), used: used(30, 0) });
    await (await admit('b', { tokens: 70 })).undo();
    const { held: all } = await admit('c', { tokens: 71 });
    assert.equal(all.tokens, 71, 'alone it may use up what is left');
    await admission.settleRun({ id: 'c', keyId: 'k', held: all, used: used(71, 0) });
    await assert.rejects(admit('d'), refused('quota_exceeded'));
  });
});
