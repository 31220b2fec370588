import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { RunId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { CredentialCipher } from '../../src/base/secrets/encrypt.ts';
import type { RunApi, RunStore } from '../../src/store/run-store.ts';
import { SealedRunStore } from '../../src/store/sealed-runs.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { eventually } from '../support/eventually.ts';
import { runStoreContract } from './run-store.ts';
import { claimedRun, events, frames, newRun, testClock } from './run-store-fixture.ts';

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
