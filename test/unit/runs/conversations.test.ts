import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { Conversations } from '../../../src/runs/conversations.ts';
import { LEASE_MS } from '../../../src/runs/executing/run-lease.ts';
import { CarriedTranscripts } from '../../../src/runs/stored/carried-transcripts.ts';
import { openStorage, type Storage } from '../../../src/store/open.ts';
import type { NewRun } from '../../../src/store/run-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { turnsDuring } from '../../support/loop-turns.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { lookups } from '../../support/research-run.ts';
import {
  CALLER,
  type Harness,
  type HarnessOptions,
  openHarness,
  question,
  testConfig,
  testTool,
} from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { wrapStore } from '../../support/wrapped-store.ts';

const RETENTION = { retentionMs: 3_600_000 };
const input = [{ type: 'message', role: 'user', content: 'What is known?' }];
const limit = () => ({ signal: AbortSignal.timeout(patience(10)) });

/** Runs that take part in a conversation, over a store that outlives the processes. */
function crashes(name: string, open: () => Promise<Storage>): void {
  describe(`a conversation whose run's process dies: ${name}`, () => {
    let storage: Storage;
    before(async () => {
      storage = await open();
    });
    after(() => storage?.close());

    const start = (chat = answering(), tools: HarnessOptions['tools'] = []) =>
      openHarness({ chat, tools, store: storage.runs, conversations: storage.conversations });
    const submit = async ({ runs, conversations }: Harness, id: string) => {
      const { joined } = await conversations.join(CALLER, id);
      return (await runs.submit(question({ conversation: joined, input }))).run;
    };
    const texts = async ({ conversations }: Harness, id: string) => {
      const record = await conversations.find(CALLER, id);
      const { items } = await conversations.items(record, { limit: 100, order: 'asc' });
      const messages = items.filter(({ type }) => type === 'message');
      return messages.map((item) => JSON.stringify(item.content)?.match(/"text":"([^"]*)"/)?.[1]);
    };

    it('gets the outcome of the run once, however many instances look at it at once', async () => {
      await using harness = await start();
      const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
      const run = await submit(harness, id);
      // The process dies right after the step that ends the run: nothing follows it.
      await harness.runs.waitForEnd(run, limit());
      const held = await storage.conversations.get(id.slice('conv_'.length));
      assert.equal(held?.holder?.run, run.id);
      const others = Array.from({ length: 5 }, () => instance(storage));
      await Promise.all(others.map((other) => other.find(CALLER, id)));
      assert.deepEqual(await texts(harness, id), ['What is known?', 'The answer.']);
      assert.equal((await storage.conversations.get(id.slice('conv_'.length)))?.holder, null);
      const next = await submit(harness, id);
      await harness.runs.waitForEnd(next, limit());
      assert.equal((await texts(harness, id)).length, 4);
    });

    it('stays locked until another instance has finished the run, and then gets its outcome', async () => {
      const reached = Promise.withResolvers<void>();
      const lookup = testTool('lookup', async () => {
        reached.resolve();
        return await new Promise<never>(() => {});
      });
      const calling = new ScriptedModel(() => ({ calls: lookups('a') }));
      const dying = await start(calling, [lookup]);
      const { id } = await dying.conversations.create(CALLER, { items: [], metadata: {} });
      const run = await submit(dying, id);
      await reached.promise;
      await dying.stop();
      const other = instance(storage);
      assert.equal((await other.find(CALLER, id)).holder?.run, run.id);
      await using harness = await start();
      await harness.runs.waitForEnd(run, limit());
      assert.deepEqual(await texts(harness, id), ['What is known?', 'The answer.']);
    });

    it('gives the sources of a run only to the user of that run', async () => {
      const source = { url: 'https://example.org/a', title: 'A', snippet: 'a', kind: 'read' as const };
      const lookup = testTool('lookup', () => ({ result: 'found', sources: [source] }));
      const looking = new ScriptedModel((request, n) =>
        n === 0 ? { calls: lookups('a') } : { text: [isAnswerTurn(request) ? 'The answer [1].' : 'Ready.'] },
      );
      await using harness = await start(looking, [lookup]);
      const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
      await harness.runs.waitForEnd(await submit(harness, id), limit());
      const known = await harness.conversations.join(CALLER, id);
      assert.deepEqual(
        (await known.lastResearch()).earlierSources.map(({ url }) => url),
        [source.url],
      );
      const eve = { user: 'eve', keyId: 'key-eve' };
      const copy = await harness.conversations.create(eve, { items: [], metadata: {} });
      const items = known.items.map((item) => ({ id: String(item.id), json: JSON.stringify(item) }));
      const max = { items: 100, bytes: 100_000 };
      await storage.conversations.add(copy.id.slice('conv_'.length), items, { keepMs: 60_000, max });
      const { items: copied, lastResearch } = await harness.conversations.join(eve, copy.id);
      assert.deepEqual([copied.length, (await lastResearch()).earlierSources], [items.length, []]);
    });

    it('is unlocked if the run was never created', async () => {
      await using harness = await start();
      const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
      const { joined } = await harness.conversations.join(CALLER, id);
      await harness.conversations.hold(joined, randomUUID());
      await assert.rejects(submit(harness, id), { code: 'conversation_locked' });
      // It is unlocked no later than another instance would take over a run that was created.
      assert.equal((await later(storage, LEASE_MS).find(CALLER, id)).holder, null);
      await harness.runs.waitForEnd(await submit(harness, id), limit());
      assert.equal((await texts(harness, id)).length, 2);
    });

    it('is unlocked if it was locked while the clock ran ahead, for a run that was never created', async () => {
      await using harness = await start();
      const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
      const { joined } = await harness.conversations.join(CALLER, id);
      await harness.conversations.hold(joined, randomUUID());
      assert.equal((await later(storage, -3 * 24 * 3_600_000).find(CALLER, id)).holder, null);
    });

    it('knows the place of an item whose removal was cut short, as of one that was removed', async () => {
      const alive = instance(storage);
      const items = ['a', 'b', 'c'].map((content) => ({ type: 'message', role: 'user', content }));
      const { id } = await alive.create(CALLER, { items, metadata: {} });
      const record = await alive.find(CALLER, id);
      const following = async (after: string) =>
        (await alive.items(record, { limit: 9, order: 'asc', after })).items.map((item) => item.id);
      const [a = '', b = '', c] = await alive
        .items(record, { limit: 9, order: 'asc' })
        .then((page) => page.items.map((item) => String(item.id)));
      // The process dies right after the item is gone, or right before.
      const { conversations } = storage;
      for (const removed of [true, false]) {
        const removeItem: typeof conversations.removeItem = async (...args) => {
          if (removed) await conversations.removeItem(...args);
          throw new Error('killed');
        };
        const dying = instance({
          ...storage,
          conversations: Object.assign(Object.create(conversations), { removeItem }),
        });
        await assert.rejects(dying.removeItem(record, removed ? a : b), /killed/);
        assert.deepEqual(await following(removed ? a : b), removed ? [b, c] : [c]);
      }
    });

    it('keeps a run that is stored, though the store is away when the run is to be confirmed', async () => {
      await using harness = await start();
      const { conversations } = harness;
      const { id } = await conversations.create(CALLER, { items: [], metadata: {} });
      const hold = conversations.hold.bind(conversations);
      let held = 0;
      conversations.hold = async (...args) => {
        if (++held > 1) throw new GatewayError('store_unavailable', 'The store is away.');
        await hold(...args);
      };
      const run = await submit(harness, id);
      await harness.runs.waitForEnd(run, limit());
      assert.equal((await storage.runs.get(run.id))?.status, 'completed');
      assert.deepEqual(await texts(harness, id), ['What is known?', 'The answer.']);
    });

    it('keeps a run that has ended before its conversation is found to be lost', async () => {
      await using harness = await start();
      const { conversations } = harness;
      const { id } = await conversations.create(CALLER, { items: [], metadata: {} });
      const hold = conversations.hold.bind(conversations);
      let held = 0;
      conversations.hold = async (joined, run) => {
        if (++held === 1) return await hold(joined, run);
        const claim = await storage.runs.claim(run, { leaseMs: LEASE_MS, force: true });
        assert.ok(claim);
        const end = { status: 'completed' as const, at: Date.now(), retainMs: RETENTION.retentionMs };
        const frames = Buffer.from('event: end\ndata: {}\n\n');
        await storage.runs.append(run, { token: claim.token, first: claim.run.last + 1, count: 1, frames, end });
        throw new GatewayError('conversation_locked', 'Another response writes to it.');
      };
      const run = await submit(harness, id);
      assert.equal((await storage.runs.get(run.id))?.status, 'completed');
    });

    it('refuses a run that is created too late', async () => {
      const creating = Promise.withResolvers<string>();
      const goOn = Promise.withResolvers<void>();
      await using harness = await start();
      const stalled = wrapStore(storage.runs, {
        create: async (run: NewRun) => {
          creating.resolve(run.id);
          await goOn.promise;
          return await storage.runs.create(run);
        },
      });
      await using slow = await openHarness({
        chat: answering(),
        store: stalled,
        conversations: storage.conversations,
      });
      const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
      const late = submit(slow, id);
      await creating.promise;
      await later(storage, LEASE_MS).find(CALLER, id);
      const run = await submit(harness, id);
      goOn.resolve();
      await assert.rejects(late, { code: 'conversation_locked' });
      await harness.runs.waitForEnd(run, limit());
      assert.deepEqual(await texts(harness, id), ['What is known?', 'The answer.']);
      assert.equal(await storage.runs.get(await creating.promise), undefined);
    });
  });
}

it('a conversation is looked up only under an id that the gateway can have made', async () => {
  const storage = await openStorage({ ...options, url: 'memory:' }, { log: silentLogger });
  const asked: string[] = [];
  const conversations = Object.assign(Object.create(storage.conversations), {
    get: async (id: string) => void asked.push(id),
  });
  // Over Redis Cluster a brace decides where the keys of an id are.
  for (const id of ['conv_}', 'conv_{a}', 'conv_', 'conv_a', `conv_${randomUUID()}/runs`]) {
    await assert.rejects(instance({ ...storage, conversations }).find(CALLER, id), { code: 'not_found' });
  }
  assert.deepEqual(asked, []);
  await storage.close();
});

/** Another process, to which each locked conversation has been locked for this long. */
function later(storage: Storage, heldMs: number): Conversations {
  const { conversations } = storage;
  const get = async (one: string) => {
    const record = await conversations.get(one);
    return record?.holder ? { ...record, holder: { ...record.holder, heldMs } } : record;
  };
  return instance({ ...storage, conversations: Object.assign(Object.create(conversations), { get }) });
}

/** Another process over the same store. */
function instance({ runs: store, ...stores }: Pick<Storage, 'runs' | 'conversations' | 'entries'>): Conversations {
  const kept = { ...RETENTION, clock: { now: Date.now }, store, ...stores };
  return new Conversations({ ...kept, carried: new CarriedTranscripts({ ...kept, runMs: 0 }) });
}

function answering(): ScriptedModel {
  return new ScriptedModel((request) => ({ text: [isAnswerTurn(request) ? 'The answer.' : 'Ready.'] }));
}

const options = { sync: 'normal' as const, tls: undefined, ...RETENTION };

crashes('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'conversations-'));
  const storage = await openStorage({ ...options, url: `file:${folder}` }, { log: silentLogger });
  const close = async () => {
    await storage.close();
    await rm(folder, { recursive: true });
  };
  return { ...storage, close };
});

describe('over Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  crashes('Redis', () => openStorage({ ...options, url: server.url }, { log: silentLogger }));
});

describe('a conversation that is lost while its run is created', () => {
  it('takes nothing from a run that has ended', async () => {
    const storage = await openStorage(testConfig().store, { log: silentLogger });
    await using harness = await openHarness({
      ...{ chat: answering(), store: storage.runs },
      conversations: new Proxy(storage.conversations, {
        get: (store, name) => (name === 'hold' ? hold : Reflect.get(store, name).bind(store)),
      }),
    });
    let holds = 0;
    const hold: Storage['conversations']['hold'] = async (id, run, options) => {
      if (++holds === 1) return await storage.conversations.hold(id, run, options);
      // Meanwhile another instance has taken the run over and ended it.
      const claim = await storage.runs.claim(run, { leaseMs: 1000, force: true });
      const end = { status: 'failed' as const, at: Date.now(), retainMs: 60_000 };
      const batch = { token: claim?.token ?? '', first: 3, count: 1, frames: Buffer.from('data: {}\n\n'), end };
      assert.equal((await storage.runs.append(run, batch)).result, 'ok');
      return 'changed';
    };
    const { id } = await harness.conversations.create(CALLER, { items: [], metadata: {} });
    const { joined } = await harness.conversations.join(CALLER, id);
    const { run } = await harness.runs.submit(question({ conversation: joined, input }));
    assert.equal(holds, 2);
    assert.equal((await storage.runs.get(run.id))?.status, 'failed');
    await storage.close();
  });
});

describe('a full conversation', () => {
  it('takes no more items, and no response, whose outcome would be lost', async () => {
    await using harness = await openHarness({ chat: answering() });
    const items = Array.from({ length: 9999 }, () => ({ type: 'message', role: 'user', content: 'So.' }));
    const { id } = await harness.conversations.create(CALLER, { items, metadata: {} });
    await harness.conversations.join(CALLER, id);
    await harness.conversations.add(await harness.conversations.find(CALLER, id), items.slice(0, 1));
    const isFull = { code: 'invalid_parameter', message: /the conversation has 10000 items/ };
    await assert.rejects(harness.conversations.join(CALLER, id), isFull);
    const record = await harness.conversations.find(CALLER, id);
    await assert.rejects(harness.conversations.add(record, items.slice(0, 1)), isFull);
  });
});

describe('a long conversation', () => {
  it('leaves turns of the event loop to others while it is read', async () => {
    await using stack = new AsyncDisposableStack();
    const store = stack.adopt(openSqliteStore('memory:', { sync: 'normal', log: silentLogger }), (open) =>
      open.close(),
    );
    const conversations = new Conversations({
      ...{ store, ...store.sideStores, retentionMs: 60_000, clock: { now: Date.now } },
      carried: { of: assert.fail } as never,
    });
    const ann = { user: 'ann', keyId: 'ann' };
    const { id } = await conversations.create(ann, { items: [], metadata: {} });
    const items = Array.from({ length: 3000 }, () => ({ role: 'user', content: 'word' }));
    await conversations.add(await conversations.find(ann, id), items);
    assert.ok((await turnsDuring(() => conversations.join(ann, id))) >= 5);
  });
});
