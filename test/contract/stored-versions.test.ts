import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { Sealer } from '../../src/base/secrets/sealed.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { publicFileId } from '../../src/files/files.ts';
import { responseObject } from '../../src/protocol/response.ts';
import { Conversations, toConversationObject } from '../../src/runs/conversations.ts';
import type { ExecutorOptions } from '../../src/runs/executing/executor-options.ts';
import { QueueExecutor } from '../../src/runs/executing/queue-executor.ts';
import { CarriedTranscripts } from '../../src/runs/stored/carried-transcripts.ts';
import type { Storage } from '../../src/store/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { CreateResult, RunStore } from '../../src/store/run-store.ts';
import type { SideStores } from '../../src/store/side-stores/side-stores.ts';
import { checkDatabase } from '../../src/store/sqlite/maintenance.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { SCHEMA_VERSION } from '../../src/store/sqlite/schema.ts';
import { FileBatches } from '../../src/vector-stores/file-batches.ts';
import { VectorStores } from '../../src/vector-stores/vector-stores.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { FirstVersion } from '../support/redis-v1.ts';
import { lookups } from '../support/research-run.ts';
import {
  CALLER,
  readAll as follow,
  type Harness,
  type HarnessOptions,
  openHarness,
  question,
  testTool,
} from '../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../support/scripted-model.ts';
import { storageOf } from '../support/storage-of.ts';
import { CONVERSATION, DELIVERY, keysOf, NO_KEYS, USED } from '../support/write-stores.ts';
import { claimed, ending, events, frames, LEASE, newRun, readAll, testClock } from './run-store-fixture.ts';

/**
 * Data of earlier versions, as their own code wrote it: every later version has to read it, byte for byte, and to
 * resume interrupted runs. A new version adds a folder and changes none.
 */
const VERSIONS = join(import.meta.dirname, '../fixtures/stores');

const known = z.record(
  z.string(),
  z.object({
    id: z.string(),
    api: z.enum(['responses', 'async']),
    kind: z.enum(['research', 'proxy']),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled']),
    last: z.number(),
    /** SHA-256 of the log. */
    log: z.string(),
    transcript: z.number(),
  }),
);
type Known = z.output<typeof known>[string];

async function knownRuns(version: string, backend: string): Promise<Record<string, Known>> {
  return known.parse(JSON.parse(await readFile(join(VERSIONS, version, `${backend}.json`), 'utf8')));
}

/** Checks that everything stored is there, and that open runs resume. */
async function readsAndResumes(
  store: RunStore,
  { runs, version, executor }: { runs: Record<string, Known>; version: string; executor?: HarnessOptions['executor'] },
): Promise<void> {
  for (const [name, { id, log, last, status, transcript }] of Object.entries(runs)) {
    const read = await readAll(store, id);
    assert.equal(createHash('sha256').update(read.bytes).digest('hex'), log, name);
    assert.deepEqual([read.last, (await store.get(id))?.status], [last, status], name);
    assert.equal((await store.readTranscript(id)).length, transcript, name);
  }
  const ids = Object.values(runs);
  for (const status of ['completed', 'failed', 'in_progress', 'queued'] as const) {
    const list = { user: CALLER.user, api: 'responses', limit: 100, status: [status] } as const;
    const expected = ids.filter((run) => run.api === 'responses' && run.status === status).map(({ id }) => id);
    assert.deepEqual((await store.list(list)).runs.map(({ id }) => id).sort(), expected.sort(), status);
  }

  // The interrupted run sends the tool results it has; the others begin with calls.
  const said = new ScriptedModel((request) => {
    if (isAnswerTurn(request)) return { text: ['Going on.'] };
    const rounds = request.messages.filter((message) => message.role === 'tool').length;
    return rounds === 0 ? { calls: lookups('a', 'b') } : { text: ['Ready.'] };
  });
  const asked: string[] = [];
  const lookup = testTool('lookup', ({ q }) => {
    asked.push(String(q));
    return { result: `{"found":"${q}"}` };
  });
  await using harness = await openHarness({ chat: said, tools: [lookup], store, ...(executor && { executor }) });
  await showsResponses(harness, runs);
  await knowsRepeats(harness, { runs, version });
  const signal = AbortSignal.timeout(60_000);
  for (const name of ['interrupted', 'queued', 'cancelling']) {
    const id = runs[name]?.id ?? '';
    const run = await harness.runs.find(CALLER, 'responses', `resp_${id}`);
    const { status } = await harness.runs.waitForEnd(run, { signal });
    assert.equal(status, name === 'cancelling' ? 'cancelled' : 'completed', name);
    const read = await readAll(store, id);
    assert.equal(read.end, true);
    const before = read.bytes.subarray(0, lengthOf(read.bytes, runs[name]?.last ?? 0));
    assert.equal(
      createHash('sha256').update(before).digest('hex'),
      runs[name]?.log,
      'the events sent before the upgrade are unchanged',
    );
  }
  // The interrupted run repeats only the tool call that was cut off.
  assert.deepEqual(
    asked.filter((word) => word === 'hold'),
    ['hold'],
  );

  // A follow-up reads the transcript of the earlier answer; a task keeps the bytes of its provider.
  const before = await harness.runs.history(CALLER, `resp_${runs.compressed?.id}`);
  assert.match(JSON.stringify(before.history), /The answer is known \[1\]/);
  assert.ok(before.earlierSources.some(({ url }) => url === 'https://example.com/a'));
  const task = await harness.runs.find(CALLER, 'async', `task_${runs.task?.id}`);
  assert.match(await harness.runs.taskJson(task), /"echo":\{"model":"m","messages":\[\]\}/);
  const fresh = await harness.runs.submit(question());
  assert.ok((await follow(harness.runs, fresh.run)).length > 0);
}

/** What versions since the third store beside runs: a conversation with its run's output, and the secret. */
async function readsConversations(
  { runs: store, secret, ...stores }: Pick<Storage, 'runs' | 'conversations' | 'entries' | 'secret'>,
  { version, backend }: { version: string; backend: string },
): Promise<void> {
  const sealed = await readFile(join(VERSIONS, version, `${backend}.sealed`), 'utf8').catch(() => undefined);
  assert.equal(sealed === undefined, version === 'v1' || version === 'v2');
  if (sealed === undefined) return;
  const of = { user: CALLER.user, kind: 'compaction', param: 'input' } as const;
  const sealer = new Sealer({ keys: [], share: secret });
  assert.equal(await sealer.open(sealed.trim(), of), 'Sealed by an earlier version.');
  const kept = { store, ...stores, clock: testClock(), retentionMs: 1000 };
  const found = new Conversations({ ...kept, carried: new CarriedTranscripts({ ...kept, runMs: 0 }) });
  const record = await found.find(CALLER, `conv_${CONVERSATION}`);
  assert.deepEqual([toConversationObject(record).metadata, record.holder], [{ a: 1 }, null]);
  const { items } = await found.items(record, { limit: 100, order: 'asc' });
  assert.equal(items[0]?.id, 'msg_1');
  assert.match(JSON.stringify(items.at(-1)), /The answer is known/);
}

/** Since version 4: a user's file, and the vector store it is in. */
async function readsDocuments({ files, entries, readings }: SideStores, version: string): Promise<void> {
  if (['v1', 'v2', 'v3'].includes(version)) return;
  const query = { limit: 10, order: 'asc' } as const;
  const [file] = (await files.list({ user: CALLER.user, ...query })).files;
  assert.deepEqual(
    [file?.name, file?.purpose, file?.bytes, file?.expiresAt],
    ['lease – 2.pdf', 'assistants', 1234, null],
  );
  const stores = new VectorStores({ entries, readings, clock: systemClock });
  const [store] = (await stores.list(CALLER.user, query)).stores;
  assert.deepEqual([store?.name, store?.metadata, store?.expiresAfterDays], ['contracts', { of: 'a' }, 100_000]);
  const [held] = (await stores.listFiles(store?.id ?? '', query)).files;
  assert.deepEqual([held?.id, held?.state], [publicFileId(file?.id ?? ''), 'failed']);
  assert.deepEqual(held?.attributes, { year: 2024, final: true, kind: 'lease' });
  assert.equal(held?.error?.code, 'invalid_file');
  const batches = new FileBatches({ entries, stores, clock: systemClock });
  const batch = await batches.find(store?.id ?? '', held?.batch ?? '');
  assert.deepEqual(
    (await batches.files(batch)).map(({ id }) => id),
    [held?.id],
  );
}

/** What versions since the fifth store of keys, usage and webhook deliveries. */
async function readsOperatorData(
  { usage, deliveries, entries }: SideStores,
  { version, run }: { version: string; run: Known | undefined },
): Promise<void> {
  if (['v1', 'v2', 'v3', 'v4'].includes(version)) return;
  assert.deepEqual(await usage.read({ from: USED.day, to: USED.day }), [USED]);
  assert.equal(await deliveries.get(run?.id ?? ''), DELIVERY);
  assert.equal(await deliveries.count(), 1);
  const live = new LiveConfig(NO_KEYS);
  await using keys = keysOf(entries, live);
  await keys.start();
  const key = live.current().keys.find(({ id }) => id === 'eve');
  assert.deepEqual([key?.tags, key?.limits], [['earlier'], { tokens_per_day: 5000 }]);
}

/** Responses have every current field, whatever their log lacks, even while they are in progress. */
async function showsResponses(harness: Harness, runs: Record<string, Known>): Promise<void> {
  for (const [name, { id, kind }] of Object.entries(runs)) {
    if (kind === 'proxy') continue;
    const run = await harness.runs.find(CALLER, 'responses', `resp_${id}`);
    const text = JSON.parse(String(await harness.runs.responseJson(run)));
    const shown = responseObject.strict().safeParse(text);
    assert.ok(shown.success, `${name}: ${shown.error}`);
    if (run.endedAt !== null)
      assert.deepEqual(text, JSON.parse(JSON.stringify(await harness.runs.response(run))), name);
  }
}

/** Submission keys of the version still hold: a repeat starts no second run. */
async function knowsRepeats(
  harness: Harness,
  { runs, version }: { runs: Record<string, Known>; version: string },
): Promise<void> {
  const idempotency = { kind: 'idempotency' as const, ttlMs: 86_400_000, sentBefore: true };
  const repeat = async (key: { hash: string; fingerprint: string }) =>
    await harness.runs.submit(question({ repeat: { ...idempotency, ...key } }));
  const first = await repeat({ hash: 'idem-1', fingerprint: 'body-1' });
  assert.deepEqual([first.replayed, first.run.id], [true, runs.compressed?.id]);
  await assert.rejects(repeat({ hash: 'idem-1', fingerprint: 'another body' }), /another body/);
  const [hash, fingerprint] = version === 'v1' ? ['idem-gone', 'body-gone'] : ['idem-2', 'body-2'];
  await assert.rejects(repeat({ hash, fingerprint }), /deleted/, 'its run was deleted');
  if (version === 'v1') return;
  const retry = { kind: 'retry' as const, ttlMs: 120_000, sentBefore: true, hash: 'retry-1', fingerprint: 'body-3' };
  const again = await harness.runs.submit(question({ repeat: retry }));
  assert.deepEqual([again.replayed, again.run.id], [true, runs.queued?.id]);
}

/** A clock that stands still just after the runs were created: nothing has expired, whenever this test runs. */
function clockOf(runs: Iterable<{ createdAt: number } | undefined>) {
  const at = Math.max(...[...runs].map((run) => run?.createdAt ?? 0)) + 1000;
  return { now: () => at };
}

/** Bytes of the first `count` frames. */
function lengthOf(bytes: Buffer, count: number): number {
  let offset = 0;
  for (let seen = 0; seen < count; seen++) offset = bytes.indexOf('\n\n', offset) + 2;
  return offset;
}

describe('data of earlier versions in SQLite', () => {
  it('is migrated after a copy is made; all data is there and open runs resume', async () => {
    for (const version of await readdir(VERSIONS)) {
      const folder = await mkdtemp(join(tmpdir(), 'stored-version-'));
      await mkdir(folder, { recursive: true });
      const db = new DatabaseSync(join(folder, 'runs.db'));
      db.exec(await readFile(join(VERSIONS, version, 'sqlite.sql'), 'utf8'));
      const schema = Number(db.prepare('PRAGMA user_version').get()?.user_version);
      db.close();
      assert.deepEqual((await checkDatabase(folder)).problems, [], version);
      const store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger, clock: testClock() });
      const runs = await knownRuns(version, 'sqlite');
      await readsConversations(storageOf(store), { version, backend: 'sqlite' });
      await readsDocuments(storageOf(store), version);
      await readsOperatorData(storageOf(store), { version, run: runs.completed });
      await readsAndResumes(store, { runs, version });
      await store.close();

      // The copy is unchanged.
      if (schema < SCHEMA_VERSION) {
        const copy = new DatabaseSync(join(folder, `runs.db.v${schema}`), { readOnly: true });
        assert.equal(copy.prepare('PRAGMA user_version').get()?.user_version, schema);
        assert.equal(copy.prepare('SELECT count(*) AS n FROM runs').get()?.n, Object.keys(runs).length);
        copy.close();
      }
      await rm(folder, { recursive: true });
    }
  });
});

describe('data of earlier versions in Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  /** Empties Redis and loads the data of a version. */
  async function load(version: string): Promise<void> {
    const client = await createClient({ url: server.url }).connect();
    await client.flushAll();
    const lines = (await readFile(join(VERSIONS, version, 'redis.jsonl'), 'utf8')).trim().split('\n');
    for (const line of lines) {
      const args = z.array(z.string()).parse(JSON.parse(line));
      await client.sendCommand(
        args.map((text) => (text.startsWith('base64:') ? Buffer.from(text.slice(7), 'base64') : text)),
      );
    }
    await client.close();
  }

  it('is read completely, and open runs resume', async () => {
    for (const version of await readdir(VERSIONS)) {
      await load(version);
      const runs = await knownRuns(version, 'redis');
      const { runs: looking } = await openRedisStore({ url: server.url, log: silentLogger });
      const clock = clockOf(await Promise.all(Object.values(runs).map(({ id }) => looking.get(id))));
      await looking.close();
      const storage = await openRedisStore({ url: server.url, log: silentLogger, clock });
      const { runs: store, limits, openQueue } = storage;
      await readsConversations(storage, { version, backend: 'redis' });
      await readsDocuments(storage, version);
      await readsOperatorData(storage, { version, run: runs.completed });
      // The batch id is stored too: a repeat after an unknown outcome is not counted again.
      if (version === 'v5') await storage.usage.add([USED], { source: 'an instance', id: '1' });
      await readsOperatorData(storage, { version, run: runs.completed });
      const tokens = await limits
        .counter({ name: 'tokens', windowSeconds: 86_400 })
        .take(CALLER.keyId, 1, { limit: 2000 });
      assert.deepEqual(
        [tokens.granted, tokens.used],
        [true, 1235],
        `${version} goes on counting the tokens of the day`,
      );
      {
        await using connection = await openQueue();
        const executor = (options: ExecutorOptions) => new QueueExecutor({ ...options, connection });
        await readsAndResumes(store, { runs, version, executor });
      }
      await store.close();
    }
  });

  it('is shared with version 1 instances during a rolling update', async () => {
    const prefix = randomUUID();
    const now = Date.now();
    await using old = await FirstVersion.open(server.url, prefix);
    const first = newRun({ createdAt: now, expiresAt: now + 3_600_000 });
    await old.create(first);
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix });

    // Each version continues what the other one started.
    const oldToken = (await old.claim(first.id, { now, leaseMs: 60_000 })) ?? '';
    assert.equal(
      await old.append(first, { token: oldToken, first: 3, count: 2, frames: frames(3, 4), transcript: ['{"t":"x"}'] }),
      'ok',
    );
    assert.equal(await store.claimNext({ leaseMs: 1000 }), undefined, 'neither version may claim the run of the other');
    const taken = await claimed(store, first.id);
    assert.equal(await old.append(first, { token: oldToken, first: 5, count: 1, frames: frames(5, 5) }), 'fenced');
    assert.equal((await store.append(first.id, ending(taken.token, 5, 'completed'))).result, 'ok');
    assert.equal(await old.read(first.id), frames(1, 5).toString());

    const other = newRun({
      createdAt: now + 1,
      expiresAt: now + 3_600_000,
      keys: [{ kind: 'retry', hash: 'r', fingerprint: 'f', ttlMs: 60_000 }],
    });
    await store.create(other);
    const { token } = await claimed(store, other.id);
    assert.equal(await old.claim(other.id, { now: Date.now(), leaseMs: 1000 }), undefined);
    const stolen = await old.claim(other.id, { now: Date.now(), leaseMs: 1000, force: true });
    assert.equal((await store.append(other.id, events(token, 3, 3))).result, 'fenced');
    const end = { status: 'completed', at: Date.now(), retainUntil: Date.now() + 60_000 };
    assert.equal(await old.append(other, { token: stolen ?? '', first: 3, count: 1, frames: frames(3, 3), end }), 'ok');
    assert.deepEqual(await readAll(store, other.id), { bytes: frames(1, 3), last: 3, end: true });
    assert.equal((await store.findKey([{ kind: 'retry', hash: 'r' }]))?.run?.status, 'completed');

    // Filtered lists show the runs of both.
    const list = { user: 'ada', api: 'responses', limit: 10, status: ['completed'] } as const;
    assert.deepEqual(
      (await store.list(list)).runs.map(({ id }) => id),
      [other.id, first.id],
    );
    await store.close();
  });

  it('holds one run for an idempotency key, whichever version received it first', async () => {
    const prefix = randomUUID();
    const now = Date.now();
    const options = { now, ttlMs: 60_000 };
    await using old = await FirstVersion.open(server.url, prefix);
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const key = (hash: string) => ({ kind: 'idempotency' as const, hash, fingerprint: 'f', ttlMs: 60_000 });
    const runWith = (hash: string) => newRun({ createdAt: now, expiresAt: now + 3_600_000, keys: [key(hash)] });
    const taken = (result: CreateResult) =>
      typeof result === 'object' && 'taken' in result ? result.taken : undefined;

    // Sent to the old version first.
    const first = newRun({ createdAt: now, expiresAt: now + 3_600_000 });
    await old.reserve('old-first', { runId: first.id, fingerprint: 'f' }, options);
    const waiting = store.create(runWith('old-first'));
    await old.create(first);
    assert.equal(taken(await waiting)?.runId, first.id, 'a key is found while its run is being stored');
    assert.equal((await store.findKey([key('old-first')]))?.run?.id, first.id);
    assert.equal(taken(await store.create(runWith('old-first')))?.run?.id, first.id);

    // Sent to the new version first.
    const second = runWith('new-first');
    assert.equal(await store.create(second), 'created');
    const holder = await old.reserve('new-first', { runId: newRun().id, fingerprint: 'f' }, options);
    assert.deepEqual(holder, { runId: second.id, fingerprint: 'f' });

    // A submission that the new version refused holds no key in the old one.
    await store.create(runWith('old-first'));
    assert.equal((await old.reserve('old-first', { runId: 'x', fingerprint: 'f' }, options))?.runId, first.id);
    // A run that the old version deleted stays deleted.
    await old.reserve('deleted', { runId: newRun().id, fingerprint: 'f' }, options);
    assert.deepEqual(taken(await store.create(runWith('deleted')))?.run, undefined);
    assert.ok(taken(await store.create(runWith('deleted'))));
    // A submission of this version that died before it created its run does not block its key.
    const dead = newRun();
    const client = await createClient({ url: server.url }).connect();
    for (const place of ['submission:idempotency', 'reservation'])
      await client.hSet(`${prefix}:${place}:dead`, { runId: dead.id, fingerprint: 'f', until: `${now + 60_000}` });
    const next = runWith('dead');
    assert.equal(await store.create(next), 'created');
    assert.equal((await old.reserve('dead', { runId: 'x', fingerprint: 'f' }, options))?.runId, next.id);
    await client.close();
    await store.close();
  });

  it('finds the run of a retry without an idempotency key that a version 1 instance received', async () => {
    const prefix = randomUUID();
    const now = Date.now();
    await using old = await FirstVersion.open(server.url, prefix);
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const run = newRun({ createdAt: now, expiresAt: now + 3_600_000 });
    await old.create(run);
    await old.remember(`${run.keyId}:body`, { runId: run.id, ttlMs: 120_000, now });
    const key = { kind: 'retry', hash: 'h0', nameInVersion1: `${run.keyId}:body` } as const;
    const found = await store.findKey([key]);
    assert.deepEqual([found?.runId, found?.fingerprint, found?.run?.status], [run.id, 'body', 'queued']);
    assert.equal(await store.findKey([{ ...key, nameInVersion1: `${run.keyId}:other` }]), undefined);
    await store.delete(run.id);
    assert.equal(await store.findKey([key]), undefined, 'a key is forgotten with its run');
    await store.close();
  });

  it('alternates between keys of runs that version 1 queued, and skips runs that it claimed', async () => {
    const prefix = randomUUID();
    const now = Date.now();
    await using old = await FirstVersion.open(server.url, prefix);
    const queued = (keyId: string, after: number) =>
      newRun({ keyId, createdAt: now + after, expiresAt: now + 3_600_000 });
    const early = [queued('early', 0), queued('early', 1)];
    for (const run of early) await old.create(run);
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const late = [queued('late', 2), queued('late', 3), queued('late', 4)];
    for (const run of late) await store.create(run);
    // Each instance does this regularly.
    await store.findClaimable({ limit: 100 });
    assert.equal(await store.countQueued('early'), 2);
    assert.ok(await old.claim(late[0]?.id ?? '', { now, leaseMs: 60_000 }));
    const order: (string | undefined)[] = [];
    for (let n = 0; n < 5; n++) order.push((await store.claimNext({ ...LEASE, queued: true }))?.run.id);
    const of = (runs: { id: string }[]) => order.filter((id) => runs.some((run) => run.id === id));
    assert.deepEqual(of(early), [early[0]?.id, early[1]?.id]);
    assert.deepEqual(of(late), [late[1]?.id, late[2]?.id]);
    assert.equal(order.indexOf(late[1]?.id) < 3 && order.indexOf(early[0]?.id) < 2, true, 'the keys take turns');
    assert.equal(order[4], undefined);
    assert.equal(await store.countQueued('late'), 0);
    await store.close();
  });

  it('is refused with advice if its version cannot be shared', async () => {
    const prefix = randomUUID();
    const client = await createClient({ url: server.url }).connect();
    await client.hSet(`${prefix}:format`, { version: '99', sharesWith: '98' });
    await assert.rejects(
      openRedisStore({ url: server.url, log: silentLogger, prefix }),
      /format 99; this gateway knows 2 .*Start the gateway that wrote it or a newer one/,
    );
    await client.hSet(`${prefix}:format`, { version: '3', sharesWith: '2' });
    const { runs } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    assert.equal(await client.hGet(`${prefix}:format`, 'version'), '3');
    await runs.close();
    await client.close();
  });
});
