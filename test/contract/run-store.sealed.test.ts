import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { RunId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { CredentialCipher } from '../../src/base/secrets/encrypt.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { RunApi, RunStore } from '../../src/store/run-store.ts';
import { SealedRunStore } from '../../src/store/sealed-runs.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { eventually } from '../support/eventually.ts';
import { redisOrSkip } from '../support/redis.ts';
import { ask } from '../support/redis-groups.ts';
import { runStoreContract } from './run-store.ts';
import { claimedRun, ending, events, frames, newRun, readAll, testClock } from './run-store-fixture.ts';

const cipher = new CredentialCipher(createHash('sha256').update('sk-of-the-test').digest('hex'), []);

/** `remote`: readers get copies of the bytes, as from a store elsewhere. */
function openStore({ remote = false } = {}) {
  const clock = testClock();
  const raw = openSqliteStore('memory:', { sync: 'normal', log: silentLogger, clock });
  const subscribe = raw.subscribe.bind(raw);
  if (remote) {
    raw.subscribe = (id, { onBatch, onGap }) =>
      subscribe(id, { onBatch: (batch) => onBatch({ ...batch, frames: Buffer.from(batch.frames) }), onGap });
  }
  return { clock, raw };
}

runStoreContract('SQLite, each run sealed', async () => {
  const { clock, raw } = openStore({ remote: true });
  const apis = new Map<RunId, RunApi>();
  const create = raw.create.bind(raw);
  raw.create = (run) => create({ ...run, api: apis.get(run.id) ?? run.api });
  const sealing = (): RunStore => {
    const store = new SealedRunStore(raw, () => cipher);
    const createSealed = store.create.bind(store);
    store.create = (run) => {
      apis.set(run.id, run.api);
      return createSealed({ ...run, api: 'unstored' });
    };
    return store;
  };
  return { store: sealing(), peer: sealing(), clock, [Symbol.asyncDispose]: () => raw.close() };
});

describe('the store of responses with store: false', () => {
  it('holds nothing of them in plain text, and everything of others', async () => {
    const { raw } = openStore();
    const store = new SealedRunStore(raw, () => cipher);
    const held = async (api: RunApi) => {
      const { run, token } = await claimedRun(store, {
        api,
        request: '{"input":"canary"}',
        metadata: '{"a":"canary"}',
      });
      await store.append(run.id, events(token, 3, 4, { transcript: ['{"t":"canary"}'] }));
      const { id } = run;
      const batches = await raw.read(id, { after: 0, maxBytes: 1e6 });
      const log = batches.map((batch) => Buffer.from(batch.frames).toString()).join('');
      const stored = await raw.get(id);
      return [stored?.request, stored?.metadata, ...(await raw.readTranscript(id)), log].map((text) =>
        /canary|test\.delta/.test(text ?? ''),
      );
    };
    assert.deepEqual(await held('unstored'), [false, false, false, false]);
    assert.deepEqual(await held('responses'), [true, true, true, true]);
    await store.close();
  });

  it('reads those that an earlier version stored in plain text, and goes on with them in the same way', async () => {
    const { raw } = openStore();
    const store = new SealedRunStore(raw, () => cipher);
    const run = newRun({ api: 'unstored' });
    await raw.create(run);
    const claim = await store.claim(run.id, { leaseMs: 10_000, force: false });
    assert.equal(claim?.run.request, run.request);
    await store.append(run.id, events(claim.token, 3, 3));
    assert.deepEqual(
      await store.read(run.id, { after: 0, maxBytes: 1e6 }),
      await raw.read(run.id, { after: 0, maxBytes: 1e6 }),
    );
    await store.close();
  });

  it('gives a batch of a megabyte back as it was, whole, cut and live, in pieces between which others run', async () => {
    const { raw } = openStore({ remote: true });
    const [store, other] = [new SealedRunStore(raw, () => cipher), new SealedRunStore(raw, () => cipher)];
    const { run, token } = await claimedRun(store, { api: 'unstored' });
    const live: Buffer[] = [];
    using _ = await other.subscribe(run.id, {
      onBatch: ({ frames: seen }) => live.push(Buffer.from(seen)),
      onGap() {},
    });
    const text = 'ß🌊'.repeat(60_000);
    const bytes = frames(3, 6, text);
    let turns = 0;
    const counting = setInterval(() => turns++);
    await store.append(run.id, { ...events(token, 3, 6), frames: bytes });
    clearInterval(counting);
    assert.ok(turns > 1, `${turns} turns of the event loop`);
    for (const after of [2, 3, 5]) {
      const read = await other.read(run.id, { after, maxBytes: 1e7 });
      assert.ok(Buffer.concat(read.map((batch) => batch.frames)).equals(frames(after + 1, 6, text)), `after ${after}`);
    }
    await eventually('it came live', () => live.length > 0 || undefined);
    assert.ok(Buffer.concat(live).equals(bytes), 'live');
    await store.close();
  });

  it('cannot be read without the API key: a claim gives the sealed request, and the log is refused', async () => {
    const { raw } = openStore();
    const keys = new Map([['key-a', cipher]]);
    const store = new SealedRunStore(raw, (keyId) => keys.get(keyId));
    const run = newRun({ api: 'unstored', frames: frames(1, 2) });
    await store.create(run);
    keys.clear();
    const claim = await store.claim(run.id, { leaseMs: 10_000, force: false });
    assert.match(claim?.run.request ?? '', /^"sealed1:/);
    await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1e6 }), /key-a, which encrypted the run, is gone/);
    await assert.rejects(store.create(newRun({ api: 'unstored' })), /is gone/);
    await store.close();
  });

  it('remembers the key of a run until its end, its release or its loss, and no longer', async () => {
    const keys = new Map<string, CredentialCipher>();
    const { raw } = openStore();
    const store = new SealedRunStore(raw, (keyId) => keys.get(keyId));
    const lease = { leaseMs: 10_000, force: true };
    const readable = (id: RunId) => store.read(id, { after: 0, maxBytes: 1e6 }).then(Boolean, () => false);
    const other = new SealedRunStore(raw, () => cipher);
    const losses: Record<string, (id: RunId, token: string) => Promise<unknown>> = {
      'it ends': (id, token) => store.append(id, ending(token, 4, 'completed')),
      'it is released': (id, token) => store.release(id, { token }),
      'another has claimed it, as an append learns': async (id, token) => {
        await other.claim(id, lease);
        return await store.append(id, events(token, 4, 4));
      },
      'another has claimed it, as a renewal learns': async (id, token) => {
        await other.claim(id, lease);
        return await store.renew(id, { token, leaseMs: 10_000 });
      },
    };
    for (const [what, lose] of Object.entries(losses)) {
      keys.set('key-a', cipher);
      const { run, token } = await claimedRun(store, { api: 'unstored' });
      keys.clear();
      assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok', 'the key is removed, it goes on');
      await store.renew(run.id, { token, leaseMs: 10_000 });
      await store.append(run.id, events('another token', 4, 4));
      await store.release(run.id, { token: 'another token' });
      assert.equal(await readable(run.id), true, 'before');
      await lose(run.id, token);
      assert.equal(await readable(run.id), false, what);
    }
    await store.close();
  });

  it('seals a run that is created again after a failover lost it, and all that follows', async function () {
    await using redis = await redisOrSkip(this);
    const { runs: raw } = await openRedisStore({ url: redis.url, log: silentLogger, prefix: 'sealed' });
    const store = new SealedRunStore(raw, () => cipher);
    const { run, token } = await claimedRun(store, { api: 'unstored' });
    await ask(redis.port, 'FLUSHALL');
    assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'missing');
    assert.ok(store.restore);
    const lost = { ...run, frames: frames(1, 2), frameCount: 2, token, leaseMs: 10_000, cancelRequested: false };
    assert.equal(await store.restore({ ...lost, transcript: ['{"t":1}'] }), 'restored');
    assert.equal((await store.append(run.id, events(token, 3, 3, { transcript: ['{"t":2}'] }))).result, 'ok');
    const held = await raw.get(run.id);
    const transcript = await raw.readTranscript(run.id);
    for (const text of [held?.request, held?.metadata, ...transcript]) assert.match(text ?? '', /^"sealed1:/);
    const log = await raw.read(run.id, { after: 0, maxBytes: 1e6 });
    assert.doesNotMatch(log.map((batch) => Buffer.from(batch.frames).toString()).join(''), /test\.delta/);
    assert.deepEqual(await store.readTranscript(run.id), ['{"t":1}', '{"t":2}']);
    const { bytes } = await readAll(new SealedRunStore(raw, () => cipher), run.id);
    assert.ok(bytes.equals(frames(1, 3)));
    await store.close();
  });

  for (const [what, spoil] of [
    ['was encrypted with another secret of its key', undefined],
    ['was changed', (text: string) => text.replace(/.{8}"$/, 'AAAAAAAA"')],
  ] as const) {
    it(`keeps a run that ${what} to itself: it is claimed, listed and found sealed, and its log is refused`, async () => {
      const { raw } = openStore();
      const writing = new SealedRunStore(raw, () => cipher);
      const create = raw.create.bind(raw);
      raw.create = (run) =>
        create(spoil ? { ...run, request: spoil(run.request), metadata: spoil(run.metadata) } : run);
      const keys = [{ kind: 'retry' as const, hash: 'h1', fingerprint: 'f', ttlMs: 1000 }];
      const run = newRun({ api: 'unstored', keys });
      await writing.create(run);
      const other = new CredentialCipher(createHash('sha256').update('sk-another').digest('hex'), []);
      const store = new SealedRunStore(raw, () => (spoil ? cipher : other));
      const sealed = /^"sealed1:/;
      assert.match((await store.get(run.id))?.request ?? '', sealed);
      assert.match((await store.findKey(keys))?.run?.request ?? '', sealed);
      assert.match((await store.list({ user: run.user, api: 'unstored', limit: 10 })).runs[0]?.metadata ?? '', sealed);
      assert.match((await store.claimNext({ leaseMs: 10_000 }))?.run.request ?? '', sealed);
      if (!spoil) {
        const refused = { name: 'GatewayError', code: 'internal_error' };
        await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1e6 }), refused);
        await assert.rejects(store.readLast(run.id), refused);
      }
      await store.close();
    });
  }
});
