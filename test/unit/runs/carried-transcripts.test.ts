import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { z } from 'zod';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { itemId, newRunId } from '../../../src/base/ids.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import { CarriedTranscripts } from '../../../src/runs/stored/carried-transcripts.ts';
import { readResearchRequest } from '../../../src/runs/stored/stored-request.ts';
import { openStorage, type Storage } from '../../../src/store/open.ts';
import { frame, LEASE, newRun } from '../../contract/run-store-fixture.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { CALLER, type Harness, openHarness, question, runToEnd } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { wrapStore } from '../../support/wrapped-store.ts';

const DESK = { name: 'ask_desk', description: 'Asks the desk.', parameters: { type: 'object' } };
const ASK = question({ research: { functions: [DESK], plan: 'off' } });
const kept = z.object({ id: z.string(), request: z.string(), transcript: z.array(z.string()) });
/** The length of each call's output, in UTF-16 code units; it is most of what a stop adds. */
const OUTPUT = 4000;
const OPTIONS = { log: silentLogger };

/** A model that calls `ask_desk` as long as it may, and the runs of its research. */
async function openResearch(storage: Pick<Storage, 'runs' | 'conversations'>, clock: Clock = systemClock) {
  const chat = new ScriptedModel((request) =>
    isAnswerTurn(request) ? { text: ['So it is.'] } : { calls: [{ name: 'ask_desk', arguments: '{}' }] },
  );
  const { runs: store, conversations } = storage;
  return { chat, harness: await openHarness({ chat, store, conversations, clock }) };
}

/** The run that continues another, with its call answered. */
async function goOn(
  harness: Harness,
  run: RunRecord,
  { isStored = true, n = 0, images = [] as string[] } = {},
): Promise<RunRecord> {
  const { output } = await harness.runs.response(run);
  const calls = output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
  const outputs = new Map(calls.map((id) => [id, { text: `${n} `.padEnd(OUTPUT, 'told'), images }]));
  const answered = { outputs, approvals: new Map(), repeatedCalls: new Set<string>(), messages: [], isStored };
  const goingOn = await harness.runs.resumeResearch(CALLER, { previous: `resp_${run.id}`, ...answered });
  assert.ok(goingOn && ASK.request.kind === 'research');
  return (await runToEnd(harness, { ...ASK, request: { ...ASK.request, ...goingOn } })).run;
}

/** The numbers of the outputs `0 told...`, `1 told...` in the model's last request. */
function shown({ requests }: ScriptedModel): number[] {
  const text = JSON.stringify(requests.at(-1)?.messages);
  return [...text.matchAll(/(\d+) told/g)].map(([, n]) => Number(n));
}

function linear(name: string, open: () => Promise<{ storage: Storage; stored(): Promise<number> }>): void {
  describe(`a research that stops for client functions, over ${name}`, () => {
    let storage: Storage;
    let stored: () => Promise<number>;
    before(async () => {
      ({ storage, stored } = await open());
    });
    after(() => storage?.close());

    it('is stored once: a later stop adds about as many bytes as an earlier one', async () => {
      const { harness, chat } = await openResearch(storage);
      await using _ = harness;
      let { run } = await runToEnd(harness, ASK);
      const sizes = [await stored()];
      for (let n = 0; n < 20; n++) {
        run = await goOn(harness, run, { n });
        sizes.push(await stored());
      }
      const added = (from: number, to: number) => (sizes[to] ?? 0) - (sizes[from] ?? 0);
      assert.ok(added(15, 20) < 1.2 * added(2, 7), sizes.join(' '));
      assert.ok(added(0, 20) < 20 * 6 * OUTPUT, sizes.join(' '));
      assert.deepEqual(shown(chat), [...Array(20).keys()]);
      // An earlier gateway does not know where the rest is, so it leaves such a run to others.
      assert.match(run.request, /^\{"v":3,/);
    });

    it('resumes after earlier responses were deleted, and leaves nothing after the last one', async () => {
      let ahead = 0;
      const { harness, chat } = await openResearch(storage, { now: () => Date.now() + ahead });
      await using _ = harness;
      const runs = [(await runToEnd(harness, ASK)).run];
      for (const n of [0, 1, 2]) runs.push(await goOn(harness, runs.at(-1) ?? assert.fail(), { n }));
      const [first, second, third, last] = runs;
      assert.ok(first && second && third && last);
      const fork = await goOn(harness, second, { n: 7 });
      assert.deepEqual(shown(chat), [0, 7]);
      for (const run of [first, second, third]) await harness.runs.delete(run);
      const end = await goOn(harness, last, { n: 3 });
      assert.deepEqual(shown(chat), [0, 1, 2, 3]);
      const kept = () => storage.conversations.get(first.id);
      // A run that expires is removed by the store alone; one that joined a moment ago may not be there yet.
      ahead = 120_000;
      await storage.runs.delete(last.id);
      await harness.runs.delete(end);
      assert.ok((await kept())?.items);
      await harness.runs.delete(fork);
      assert.deepEqual([await kept(), await storage.conversations.get(`${first.id}/runs`)], [undefined, undefined]);
    });

    it('is retained for a response that is about to be created', async () => {
      const { harness } = await openResearch(storage);
      await using _ = harness;
      const { run: first } = await runToEnd(harness, ASK);
      const second = await goOn(harness, first);
      const { runs, conversations } = storage;
      const ttl = { retentionMs: 60_000, runMs: 60_000 };
      const carried = new CarriedTranscripts({ store: runs, conversations, clock: systemClock, ...ttl });
      const request = readResearchRequest(second);
      assert.ok(request?.goesOn?.after);
      await carried.join(request, newRunId());
      for (const run of [first, second]) await harness.runs.delete(run);
      assert.equal((await carried.entriesBefore(request)).length > 0, true);
    });

    it('is not stored by an unstored response, and cannot be read as a conversation', async () => {
      const { harness, chat } = await openResearch(storage);
      await using _ = harness;
      const { run } = await runToEnd(harness, ASK);
      const unstored = await goOn(harness, run, { isStored: false });
      assert.equal(await storage.conversations.get(run.id), undefined);
      await goOn(harness, unstored, { n: 1 });
      assert.deepEqual(shown(chat), [0, 1]);
      assert.ok(await storage.conversations.get(run.id));
      for (const id of [`conv_${run.id}`, `conv_${run.id}/runs`]) {
        await assert.rejects(harness.conversations.find(CALLER, id), { code: 'not_found' });
      }
    });

    it('refuses images beyond its limit', async () => {
      const { harness } = await openResearch(storage);
      await using _ = harness;
      const { run } = await runToEnd(harness, ASK);
      const images = Array.from({ length: 65 }, () => 'data:image/png;base64,'.padEnd(1024 ** 2, 'A'));
      await assert.rejects(goOn(harness, run, { images }), { code: 'invalid_parameter', param: 'input' });
    });

    it('is not_found if the previous response is deleted while it resumes', async () => {
      const { harness } = await openResearch(storage);
      await using _ = harness;
      const { run } = await runToEnd(harness, ASK);
      const runs = wrapStore(storage.runs, {
        async readTranscript(id) {
          await storage.runs.delete(id);
          return await storage.runs.readTranscript(id);
        },
      });
      const late = await openResearch({ runs, conversations: storage.conversations });
      await using __ = late.harness;
      await assert.rejects(goOn(late.harness, run), { code: 'not_found' });
    });

    it('resumes from a version that stored all of it with each response', async () => {
      const file = new URL('../../fixtures/research-kept-whole.json', import.meta.url);
      const { id, request, transcript } = kept.parse(JSON.parse(await readFile(file, 'utf8')));
      const { user, keyId } = CALLER;
      const created = await storage.runs.create({ ...newRun({ id, user, keyId, request }), claim: LEASE });
      assert.ok(typeof created === 'object' && 'token' in created);
      const end = { status: 'completed' as const, at: Date.now(), retainMs: 3_600_000 };
      const batch = { first: 3, count: 1, frames: frame(3), transcript, end };
      await storage.runs.append(id, { token: created.token, ...batch });
      const { harness, chat } = await openResearch(storage);
      await using _ = harness;
      const outputs = new Map([[itemId('call', id, { output: 2 }), { text: '2 told' }]]);
      const answered = {
        outputs,
        approvals: new Map(),
        repeatedCalls: new Set<string>(),
        messages: [],
        isStored: true,
      };
      const goingOn = await harness.runs.resumeResearch(CALLER, { previous: `resp_${id}`, ...answered });
      assert.ok(goingOn && ASK.request.kind === 'research');
      await runToEnd(harness, { ...ASK, request: { ...ASK.request, ...goingOn } });
      assert.deepEqual(shown(chat), [0, 1, 2]);
    });
  });
}

const folders = new AsyncDisposableStack();
after(() => folders.disposeAsync());

linear('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'carried-'));
  folders.defer(() => rm(folder, { recursive: true }));
  const url = `file:${folder}`;
  const storage = await openStorage({ url, sync: 'normal', tls: undefined, retentionMs: 3_600_000 }, OPTIONS);
  return { storage, stored: async () => bytesIn(join(folder, 'runs.db')) };
});

describe('over Redis', () => {
  let redis: RedisServer;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  linear('Redis', async () => {
    const { url } = redis;
    const storage = await openStorage({ url, sync: 'normal', tls: undefined, retentionMs: 3_600_000 }, OPTIONS);
    return { storage, stored: () => bytesInRedis(url) };
  });
});

/** The bytes of all values of all tables. */
function bytesIn(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return tables.reduce((sum, { name }) => {
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
    const sizes = columns.map((column) => `COALESCE(SUM(LENGTH(CAST("${column.name}" AS BLOB))), 0)`);
    const row = db.prepare(`SELECT ${sizes.join(' + ')} AS bytes FROM "${name}"`).get();
    return sum + Number(row?.bytes);
  }, 0);
}

async function bytesInRedis(url: string): Promise<number> {
  const client = await createClient({ url }).connect();
  let bytes = 0;
  for await (const keys of client.scanIterator()) {
    for (const key of keys) bytes += Number(await client.sendCommand(['MEMORY', 'USAGE', key, 'SAMPLES', '0']));
  }
  client.destroy();
  return bytes;
}
