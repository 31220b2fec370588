import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { GatewayError } from '../../../src/base/errors.ts';
import { configSchema, type KeyConfig } from '../../../src/config/schema.ts';
import { Admission, drivenMs } from '../../../src/http/limits/admission.ts';
import { memoryLimits } from '../../../src/store/memory-limits.ts';

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
  const announced: Record<string, string>[] = [];
  const admit = (id: string, options: { tokens?: number; runMs?: number; waits?: boolean } = {}) =>
    admission.admit({
      key,
      id,
      tokens: options.tokens ?? 1,
      runMs: options.runMs ?? 1000,
      waits: options.waits ?? false,
      announce: (headers) => void announced.push(headers),
    });
  return { admit, admission, announced, clock };
}

const refused = (code: string) => (thrown: unknown) => thrown instanceof GatewayError && thrown.code === code;

/** With the answer, which is written after the second that these runs may last. */
const DRIVEN_MS = drivenMs(1000);

describe('Admission', () => {
  it('a place that nobody frees is free again after the time that a run may last', async () => {
    const { admit, clock } = setUp({ concurrent_runs: 1 });
    await admit('a');
    clock.now = DRIVEN_MS - 1;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    clock.now = DRIVEN_MS;
    await admit('b');
  });

  it('a run that waited holds its place from its beginning for the time that it may last', async () => {
    const { admit, admission, clock } = setUp({ concurrent_runs: 1, tokens_per_day: 100 });
    const { held } = await admit('a', { waits: true, tokens: 60 });
    clock.now = 3_600_000;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    await admission.runBegins({ id: 'a', keyId: 'k', held, runMs: 1000 });
    clock.now += DRIVEN_MS - 1;
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    clock.now += 1;
    await admit('b', { tokens: 60 });
  });

  it('a run that goes on is counted again where its place is forgotten, also beyond the limit', async () => {
    const { admit, admission } = setUp({ concurrent_runs: 1 });
    await admit('a');
    const held = { place: true };
    await admission.runBegins({ id: 'of before', keyId: 'k', held, runMs: 1000 });
    await admission.runEnded({ id: 'a', keyId: 'k', held, tokens: 0, cost: 0 });
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    await admission.runEnded({ id: 'of before', keyId: 'k', held, tokens: 0, cost: 0 });
    await admit('b');
  });

  it('settling frees the place of that run only, and twice does no harm', async () => {
    const { admit } = setUp({ concurrent_runs: 2 });
    const first = await admit('a');
    await admit('b');
    await first.settle();
    await first.settle();
    await admit('c');
    await assert.rejects(admit('d'), refused('concurrency_limit_exceeded'));
  });

  it('what was taken is given back once, however often it is asked', async () => {
    const { admit } = setUp({ concurrent_runs: 1, requests_per_minute: 3, tokens_per_day: 100 });
    const first = await admit('a', { tokens: 60 });
    await first.undo();
    await first.undo();
    await first.settle({ tokens: 0, cost: 0 });
    const second = await admit('b', { tokens: 60 });
    await second.settle({ tokens: 50, cost: 0 });
    await second.settle({ tokens: 0, cost: 0 });
    await second.undo();
    await (await admit('c', { tokens: 50 })).settle({ tokens: 50, cost: 0 });
    await assert.rejects(admit('d', { tokens: 1 }), refused('quota_exceeded'));
  });

  it('undoing gives back request, place and tokens', async () => {
    const { admit, announced } = setUp({ concurrent_runs: 1, requests_per_minute: 2, tokens_per_day: 100 });
    for (let n = 0; n < 5; n++) await (await admit(`a${n}`, { tokens: 90 })).undo();
    await admit('b', { tokens: 90 });
    assert.equal(announced.at(-1)?.['x-ratelimit-remaining-requests'], '1');
  });

  it('a request refused by the rate limit keeps no place and no tokens', async () => {
    const { admit } = setUp({ concurrent_runs: 2, requests_per_minute: 1, tokens_per_day: 100 });
    await (await admit('a', { tokens: 10 })).settle({ tokens: 10, cost: 0 });
    for (let n = 0; n < 20; n++) await assert.rejects(admit(`b${n}`, { tokens: 10 }), refused('rate_limit_exceeded'));
  });

  it('tokens: parallel requests have to fit together, a lone one may use up what is left', async () => {
    const { admit } = setUp({ tokens_per_day: 100 });
    const first = await admit('a', { tokens: 60 });
    const soon = { code: 'quota_exceeded', retryAfterMs: 2000 };
    await assert.rejects(admit('b', { tokens: 60 }), soon, 'it fits once the other one has ended');
    await first.settle({ tokens: 50, cost: 0 });
    const second = await admit('c', { tokens: 60 });
    await second.settle({ tokens: 60, cost: 0 });
    await assert.rejects(admit('d', { tokens: 1 }), { code: 'quota_exceeded', retryAfterMs: 86_400_000 });
  });

  it('tokens that were more than reserved are taken', async () => {
    const { admit } = setUp({ tokens_per_day: 100 });
    await (await admit('a', { tokens: 10 })).settle({ tokens: 99, cost: 0 });
    await (await admit('b', { tokens: 10 })).settle({ tokens: 10, cost: 0 });
    await assert.rejects(admit('c', { tokens: 1 }), refused('quota_exceeded'));
  });

  it('a limit smaller than any request still lets one through', async () => {
    const { admit } = setUp({ tokens_per_day: 5 });
    await (await admit('a', { tokens: 1_000_000 })).settle({ tokens: 1_000_000, cost: 0 });
    await assert.rejects(admit('b'), refused('quota_exceeded'));
  });

  it('a key without limits holds nothing that its end would free', async () => {
    const { admit, announced } = setUp({});
    assert.deepEqual((await admit('a')).held, {});
    assert.deepEqual(announced, []);
    const { admit: limited } = setUp({ concurrent_runs: 1 });
    assert.deepEqual((await limited('a')).held, { place: true });
  });

  it('uses no id twice: something may still have to be given back under it', async () => {
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
    const call = async () =>
      await (await admission.admit({ key, tokens: 1, announce: () => {} })).settle({ tokens: 1, cost: 0 });
    for (let n = 0; n < 3; n++) await call();
    assert.equal(new Set(ids).size, 3);
  });

  /** An admission over limits whose calls are listed by name. */
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

  it('a run of a key without limits asks nothing of the store', async () => {
    const { admission, calls } = listing();
    const { held } = await admission.admit({ key: keyWith({}), id: 'a', runMs: 1000, tokens: 1, announce: () => {} });
    const run = { id: 'a', keyId: 'k', held, runMs: 1000, tokens: 10, cost: 1 };
    await admission.runBegins(run);
    await admission.runUsed(run);
    assert.equal(await admission.runEnded(run), true);
    assert.deepEqual(calls, []);
  });

  it('notes what a call has used when it has used more, and nothing once it has ended', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const { admission, calls } = listing();
      let used = { tokens: 5, cost: 0 };
      const key = keyWith({ tokens_per_day: 100 });
      const call = await admission.admit({ key, tokens: 20, announce: () => {}, usedSoFar: () => used });
      const notes = () => calls.filter((name) => name === 'note').length;
      mock.timers.tick(1000);
      assert.equal(notes(), 1);
      mock.timers.tick(3000);
      assert.equal(notes(), 1, 'it has used nothing more');
      used = { tokens: 6, cost: 0 };
      mock.timers.tick(1000);
      assert.equal(notes(), 2);
      await call.settle(used);
      used = { tokens: 7, cost: 0 };
      mock.timers.tick(5000);
      assert.equal(notes(), 2);
    } finally {
      mock.timers.reset();
    }
  });

  it('what a run held is freed by whoever ends it', async () => {
    const limits = { concurrent_runs: 1, tokens_per_day: 100 };
    const { admit, admission } = setUp(limits);
    const { held } = await admit('a', { tokens: 90 });
    assert.deepEqual(held, { place: true, tokens: 90 });
    await assert.rejects(admit('b'), refused('concurrency_limit_exceeded'));
    // It travels with the run, as JSON.
    await admission.runEnded({ id: 'a', keyId: 'k', held: JSON.parse(JSON.stringify(held)), tokens: 30, cost: 0 });
    await (await admit('b', { tokens: 70 })).undo();
    const { held: all } = await admit('c', { tokens: 71 });
    assert.equal(all.tokens, 71, 'alone it may use up what is left');
    await admission.runEnded({ id: 'c', keyId: 'k', held: all, tokens: 71, cost: 0 });
    await assert.rejects(admit('d'), refused('quota_exceeded'));
  });
});
