import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient, RESP_TYPES } from '@redis/client';
import { systemClock } from '../../src/base/clock.ts';
import { GatewayError } from '../../src/base/errors.ts';
import { publicId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { Sealer } from '../../src/base/secrets/sealed.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { configSchema, type GatewayConfig } from '../../src/config/schema.ts';
import { publicFileId } from '../../src/files/files.ts';
import { StoredKeys } from '../../src/keys/stored-keys.ts';
import type { ExecutorOptions } from '../../src/runs/executing/executor-options.ts';
import { QueueExecutor } from '../../src/runs/executing/queue-executor.ts';
import type { RunRecord } from '../../src/runs/runs.ts';
import type { Submission } from '../../src/runs/submission.ts';
import type { LimitStore } from '../../src/store/limit-store.ts';
import type { Storage } from '../../src/store/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import type { EntryStore } from '../../src/store/side-stores/entry-store.ts';
import type { FileRecord } from '../../src/store/side-stores/file-store.ts';
import type { SideStores } from '../../src/store/side-stores/side-stores.ts';
import { emptyUsage, type UsageRow } from '../../src/store/side-stores/usage-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { FileBatches } from '../../src/vector-stores/file-batches.ts';
import { VectorStores } from '../../src/vector-stores/vector-stores.ts';
import { readAll } from '../contract/run-store-fixture.ts';
import { eventually } from './eventually.ts';
import { startRedis } from './redis.ts';
import { lookups } from './research-run.ts';
import {
  CALLER,
  type Harness,
  type HarnessOptions,
  openHarness,
  question,
  testConfig,
  testTool,
} from './run-harness.ts';
import { isAnswerTurn, ScriptedModel } from './scripted-model.ts';
import { storageOf } from './storage-of.ts';
import { patience } from './time-limit.ts';

/**
 * Writes what this version stores as fixtures that all later versions have to read, once for each released version:
 * `node test/support/write-stores.ts test/fixtures/stores/v3`. `test/contract/stored-versions.test.ts` opens them.
 */
const DAY_MS = 86_400_000;

/** The conversation of the fixtures. */
export const CONVERSATION = '00000000-0000-4000-8000-00000000c0de';

/** The usage of a key on one day. */
export const USED: UsageRow = {
  ...emptyUsage({ day: '2026-11-20', key: CALLER.keyId, team: 'red', model: 'm', tag: 'a=b' }),
  requests: 3,
  input_tokens: 1200,
  cost_nanos: 4_000_000_000,
};
/** The state of a run's webhook delivery. */
export const DELIVERY =
  '{"key":{"status":"pending","attempts":[{"at":12,"status":503,"error":null}],"failures":1,"nextAt":5012}}';

type Named = Record<string, RunRecord>;

/** Runs in every state: two finished ones, one of them compressed, and some that were in progress when the gateway stopped. */
async function fill(store: RunStore, executor?: HarnessOptions['executor']): Promise<Named> {
  const holds = Promise.withResolvers<void>();
  const chat = new ScriptedModel((request) => {
    const words = JSON.stringify(request.messages);
    if (isAnswerTurn(request)) {
      if (words.includes('Fail.')) throw new GatewayError('upstream_error', 'The provider answered 500.');
      return { text: ['The answer ', 'is known [1].'] };
    }
    const rounds = request.messages.filter(({ role }) => role === 'tool').length;
    if (rounds === 0) return { reasoning: ['Let me ', 'look.'], calls: lookups('a', 'b') };
    return words.includes('Hold.') && rounds === 2 ? { calls: lookups('hold') } : { text: ['Ready.'] };
  });
  const lookup = testTool('lookup', async ({ q }) => {
    if (q === 'hold') {
      holds.resolve();
      await new Promise(() => {});
    }
    const source = { url: `https://example.com/${q}`, title: `Page ${q}`, snippet: 'Known.', kind: 'read' as const };
    return { result: `{"source_id":1,"content":"${q} is known."}`, sources: [source] };
  });
  const config = testConfig({ runs: { max_concurrent: 1 } });
  const harness = await openHarness({ chat, tools: [lookup], store, config, ...(executor && { executor }) });
  const submit = async (submission: Submission) => (await harness.runs.submit(submission)).run;
  const toEnd = async (submission: Submission) => await ended(harness, await submit(submission));
  const idempotency = { kind: 'idempotency' as const, ttlMs: DAY_MS, sentBefore: true };

  const compressed = await toEnd(
    question({ metadata: { team: 'a' }, repeat: { ...idempotency, hash: 'idem-1', fingerprint: 'body-1' } }),
  );
  await store.compressEnded({ endedForMs: 0, limit: 10 });
  const deleted = await toEnd(question({ repeat: { ...idempotency, hash: 'idem-2', fingerprint: 'body-2' } }));
  await harness.runs.delete(deleted);
  const completed = await toEnd(question());
  const task = await toEnd(question({ api: 'async', request: { kind: 'proxy', body: '{"model":"m","messages":[]}' } }));
  const failed = await toEnd(asking('Fail.'));
  const interrupted = await submit(asking('Hold.'));
  await holds.promise;
  const retry = { kind: 'retry' as const, ttlMs: 120_000, sentBefore: false };
  const queued = await submit(question({ repeat: { ...retry, hash: 'retry-1', fingerprint: 'body-3' } }));
  const cancelling = await submit(question());
  // A run whose cancel was requested but which no owner has ended.
  await harness.stop();
  await store.requestCancel(cancelling.id);
  return { compressed, completed, task, failed, interrupted, queued, cancelling };
}

function asking(text: string): Submission {
  return question({ research: { conversation: [{ role: 'user', content: [{ type: 'text', text }] }] } });
}

async function ended(harness: Harness, run: RunRecord): Promise<RunRecord> {
  await harness.runs.waitForEnd(run, { signal: AbortSignal.timeout(patience(30)) });
  const api = run.api === 'async' ? 'async' : 'responses';
  return await harness.runs.find(CALLER, api, publicId(api, run.id));
}

/** The file of the fixtures. */
const FILE: FileRecord = {
  id: '00000000-0000-4000-8000-00000000f11e',
  user: CALLER.user,
  name: 'lease – 2.pdf',
  purpose: 'assistants',
  type: 'application/pdf',
  bytes: 1234,
  createdAt: 1_750_000_000_000,
  expiresAt: null,
};

/** A file, and a vector store to which a batch has added it. */
async function fillDocuments({ files, entries, readings }: SideStores): Promise<void> {
  await files.add(FILE, { maxBytes: 10_000 });
  const stores = new VectorStores({ entries, readings, clock: systemClock });
  const store = await stores.create(CALLER.user, {
    name: 'contracts',
    metadata: { of: 'a' },
    expiresAfterDays: 100_000,
  });
  const chunking = { type: 'static', static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } };
  const batches = new FileBatches({ entries, stores, clock: systemClock });
  await batches.create(store, [{ file: FILE, attributes: { year: 2024, final: true, kind: 'lease' }, chunking }]);
  const error = { code: 'invalid_file' as const, message: 'There is no text in this file.' };
  await stores.changeFile(store.id, publicFileId(FILE.id), (known) => ({
    state: 'failed',
    value: { ...known, error },
  }));
}

/** A conversation with one item, locked by a run that has ended, and a text that was sealed with the store's secret. */
async function fillConversations(
  { conversations, secret }: Pick<Storage, 'conversations' | 'secret'>,
  { completed }: Named,
  folder: string,
): Promise<void> {
  const id = CONVERSATION;
  const items = [{ id: 'msg_1', json: '{"type":"message","role":"user","content":"Hello","id":"msg_1"}' }];
  const begun = { id, user: CALLER.user, createdAt: 1_750_000_000_000, metadata: '{"a":1}', items };
  await conversations.create({ ...begun, keepMs: 100_000 * DAY_MS });
  await conversations.hold(id, completed?.id ?? '', { keepMs: 100_000 * DAY_MS, version: 1 });
  const sealer = new Sealer({ keys: [], share: secret });
  await writeFile(
    folder,
    `${await sealer.seal('Sealed by an earlier version.', { user: CALLER.user, kind: 'compaction' })}\n`,
  );
}

/** Usage, a pending webhook, and a stored key. */
async function fillOperatorData({ usage, deliveries, entries }: SideStores, { completed }: Named): Promise<void> {
  await usage.add([USED], { source: 'an instance', id: '1' });
  const id = completed?.id ?? '';
  await deliveries.put(id, { before: undefined, state: DELIVERY, dueInMs: 0, keepMs: 100_000 * DAY_MS });
  await using keys = keysOf(entries, new LiveConfig(NO_KEYS));
  await keys.create('eve', { tags: ['earlier'], limits: { tokens_per_day: 5000 } });
}

/** A configuration whose only key is that of an operator. */
export const NO_KEYS = configSchema.parse({ providers: {}, models: {}, keys: [{ id: 'boss', secret: 'sk-boss' }] });

/** The keys in a store, with `live` kept up to date. */
export function keysOf(store: EntryStore, live: LiveConfig): StoredKeys {
  const replace = async (next: GatewayConfig) => live.replace(next);
  return new StoredKeys({ store, live, replace, clock: systemClock, log: silentLogger });
}

/** What a later version must find in the fixtures. */
async function known(store: RunStore, runs: Named): Promise<string> {
  const found = await Promise.all(
    Object.entries(runs).map(async ([name, { id }]) => {
      const run = await store.get(id);
      const { bytes, last } = await readAll(store, id);
      const log = createHash('sha256').update(bytes).digest('hex');
      const transcript = (await store.readTranscript(id)).length;
      return [name, { id, api: run?.api, kind: run?.kind, status: run?.status, last, log, transcript }] as const;
    }),
  );
  return `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`;
}

async function writeSqlite(folder: string): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'store-'));
  const store = openSqliteStore(`file:${data}`, { sync: 'normal', log: silentLogger });
  const runs = await fill(store);
  await writeFile(join(folder, 'sqlite.json'), await known(store, runs));
  await fillConversations(storageOf(store), runs, join(folder, 'sqlite.sealed'));
  await fillDocuments(storageOf(store));
  await fillOperatorData(storageOf(store), runs);
  await takeLimits(store.limits, runs);
  await store.close();
  const db = new DatabaseSync(join(data, 'runs.db'));
  await writeFile(join(folder, 'sqlite.sql'), `${sqlOf(db).join('\n')}\n`);
  db.close();
  await rm(data, { recursive: true });
}

/** SQL statements that recreate the database. */
function sqlOf(db: DatabaseSync): string[] {
  const schema = db.prepare(
    "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'",
  );
  const objects = schema.all();
  const rows = objects
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) => {
      const columns = db.prepare(`PRAGMA table_xinfo(${name})`).all();
      const names = columns.filter(({ hidden }) => hidden === 0).map((column) => column.name);
      const all = db.prepare(`SELECT ${names.join(', ')} FROM ${name}`).all();
      return all.map((row) => {
        return `INSERT INTO ${name} (${names.join(', ')}) VALUES (${Object.values(row).map(literal).join(', ')});`;
      });
    });
  const version = db.prepare('PRAGMA user_version').get()?.user_version;
  return [...objects.map(({ sql }) => `${sql};`), ...rows, `PRAGMA user_version = ${version};`];
}

function literal(value: unknown): string {
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value ?? 'NULL');
}

/** Uses a part of the limits of a key and of a run. */
async function takeLimits(limits: LimitStore, runs: Named): Promise<void> {
  const id = runs.interrupted?.id ?? '';
  await limits.counter({ name: 'requests', windowSeconds: 60 }).take(CALLER.keyId, 3, { limit: 100 });
  await limits.counter({ name: 'tokens', windowSeconds: 86_400 }).take(CALLER.keyId, 1234, { limit: 10_000 });
  await limits.slots({ name: 'runs' }).take(CALLER.keyId, id, { limit: 10, ttlMs: 3 * DAY_MS });
  await limits.slots({ name: 'reserved' }).take(CALLER.keyId, id, { limit: 10, ttlMs: 3 * DAY_MS });
}

async function writeRedis(folder: string): Promise<void> {
  await using server = await startRedis();
  const storage = await openRedisStore({ url: server.url, log: silentLogger });
  const { runs: store, limits, openQueue } = storage;
  {
    await using connection = await openQueue();
    const executor = (options: ExecutorOptions) => new QueueExecutor({ ...options, connection });
    const runs = await fill(store, executor);
    await writeFile(join(folder, 'redis.json'), await known(store, runs));
    await fillConversations(storage, runs, join(folder, 'redis.sealed'));
    await fillDocuments(storage);
    await fillOperatorData(storage, runs);
    await takeLimits(limits, runs);
  }
  await store.close();
  const client = await connectTo(server.url);
  const keys = await eventually('the queue releases its locks', async () => {
    const all = (await client.keys('*')).sort();
    return all.some((key) => /:(lock|stalled-check)$/.test(key)) ? undefined : all;
  });
  const lines: string[] = [];
  for (const key of keys) lines.push(...(await commandsOf(client, key)).map((command) => JSON.stringify(command)));
  await writeFile(join(folder, 'redis.jsonl'), `${lines.join('\n')}\n`);
  client.destroy();
}

async function connectTo(url: string) {
  return await createClient({ url }).connect();
}

type Client = Awaited<ReturnType<typeof connectTo>>;

/** Commands that recreate a Redis key; binary values are written as `base64:`. */
async function commandsOf(client: Client, key: string): Promise<string[][]> {
  const commands: string[][] = [];
  switch (await client.type(key)) {
    case 'hash':
      commands.push(['HSET', key, ...Object.entries(await client.hGetAll(key)).flat()]);
      break;
    case 'zset':
      commands.push([
        'ZADD',
        key,
        ...(await client.zRangeWithScores(key, 0, -1)).flatMap((e) => [`${e.score}`, e.value]),
      ]);
      break;
    case 'set':
      commands.push(['SADD', key, ...(await client.sMembers(key))]);
      break;
    case 'list':
      commands.push(['RPUSH', key, ...(await client.lRange(key, 0, -1))]);
      break;
    case 'stream':
      for (const { id, message } of await client.xRange(key, '-', '+'))
        commands.push(['XADD', key, id, ...Object.entries(message).flat()]);
      break;
    default:
      commands.push(['SET', key, await textOf(client, key)]);
  }
  const left = await client.pTTL(key);
  if (left > 0) commands.push(['PEXPIRE', key, `${left}`]);
  return commands;
}

async function textOf(client: Client, key: string): Promise<string> {
  const reply = await client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get(key);
  const bytes = Buffer.from(reply ?? '');
  return bytes.equals(Buffer.from(bytes.toString())) ? bytes.toString() : `base64:${bytes.toString('base64')}`;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder of the version');
  await mkdir(folder, { recursive: true });
  await writeSqlite(folder);
  await writeRedis(folder);
}
