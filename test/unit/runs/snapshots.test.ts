import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { newRunId, publicId } from '../../../src/base/ids.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { AppendTick } from '../../../src/runs/executing/log/append-tick.ts';
import { LogWriter } from '../../../src/runs/executing/log/log-writer.ts';
import { RunLease } from '../../../src/runs/executing/run-lease.ts';
import { ResponseFold } from '../../../src/runs/reading/response-fold.ts';
import { Snapshots } from '../../../src/runs/reading/snapshots.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import { newRun as newRunOf } from '../../../src/runs/submitting/new-run.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import type { TurnPart, TurnRequest } from '../../../src/upstream/turn.ts';
import { CALLER, type Harness, openHarness, question } from '../../support/run-harness.ts';
import { ScriptedModel, TURN_USAGE } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** A model that says the words that a test gives it, as it gets them. */
class Speaker extends ScriptedModel {
  readonly #words: string[] = [];
  #heard = Promise.withResolvers<void>();

  constructor() {
    super([]);
  }

  say(...words: string[]): void {
    this.#words.push(...words);
    this.#heard.resolve();
  }

  override async *turn(_request: TurnRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<TurnPart> {
    let content = '';
    for (;;) {
      const word = this.#words.shift();
      if (word === 'END') break;
      if (word === undefined) {
        this.#heard = Promise.withResolvers();
        const left = () => this.#heard.reject(signal.reason);
        signal.addEventListener('abort', left, { once: true });
        await this.#heard.promise;
        continue;
      }
      content += word;
      yield { type: 'text', delta: word };
    }
    yield { type: 'finish', reason: 'stop', usage: TURN_USAGE, message: { role: 'assistant', content } };
  }
}

/** A text without repetition, which a guard would end. */
const LONG = Array.from({ length: 2000 }, (_, n) => `${n} `).join('');

/** A store that counts what is read of logs. */
function counting(inner: RunStore) {
  const reads: { after: number; bytes: number }[] = [];
  const store = wrapStore(inner, {
    read: async (id, options) => {
      const batches = await inner.read(id, options);
      reads.push({ after: options.after, bytes: batches.reduce((sum, { frames }) => sum + frames.length, 0) });
      return batches;
    },
  });
  return { store, reads };
}

describe('the snapshot of an open run', () => {
  let inner: RunStore;
  let chat: Speaker;
  beforeEach(async () => {
    inner = await memoryStore();
    chat = new Speaker();
  });
  afterEach(() => inner.close());

  const submit = async (harness: Harness) =>
    (await harness.runs.submit(question({ research: { toolChoice: 'none' } }))).run;
  const find = (harness: Harness, run: RunRecord) =>
    harness.runs.find(CALLER, 'responses', publicId('responses', run.id));
  const poll = async (harness: Harness, run: RunRecord) => await harness.runs.response(await find(harness, run));

  /** The response according to the log. */
  async function folded(run: RunRecord): Promise<ResponseObject | undefined> {
    const fold = new ResponseFold();
    await fold.catchUp(inner, run.id);
    return fold.response;
  }

  async function until(harness: Harness, run: RunRecord, text: string): Promise<ResponseObject> {
    for (;;) {
      const response = await poll(harness, run);
      if (response.output_text === text) return response;
      await turnOfLoop();
    }
  }

  it('is the fold of its log, which the owner keeps without reading the store', async () => {
    const { store, reads } = counting(inner);
    await using harness = await openHarness({ chat, store });
    const run = await submit(harness);
    chat.say('one');
    await until(harness, run, 'one');
    reads.length = 0;
    chat.say(' two', ' three');
    const response = await until(harness, run, 'one two three');
    const text = await harness.runs.responseJson(await find(harness, run));
    assert.deepEqual(JSON.parse(String(text)), JSON.parse(JSON.stringify(response)));
    assert.equal(await harness.runs.responseJson(await find(harness, run)), text, 'nothing is written anew');
    for (let n = 0; n < 50; n++) await poll(harness, run);
    assert.deepEqual(reads, []);
    const { started_at: _, ...shown } = response;
    const { started_at: __, ...stored } = (await folded(run)) ?? assert.fail();
    assert.deepEqual(shown, stored);
    chat.say(' four');
    await until(harness, run, 'one two three four');
    assert.match(String(await harness.runs.responseJson(await find(harness, run))), /one two three four/);
    assert.equal(response.output_text, 'one two three', 'what was given does not grow');
    const [message] = response.output;
    assert.equal(message?.type === 'message' && answerPart(message)?.text, 'one two three');
    chat.say('END');
    while ((await find(harness, run)).status !== 'completed') await turnOfLoop();
    const ended = await find(harness, run);
    assert.equal((await harness.runs.response(ended)).output_text, 'one two three four');
    const shownNow = await harness.runs.responseJson(ended);
    assert.equal(String(shownNow), JSON.stringify(await harness.runs.response(ended)));
    assert.equal(await harness.runs.responseJson(ended), shownNow, 'an ended run is not read again');
  });

  it('shows nothing that is not stored', async () => {
    const held = Promise.withResolvers<void>();
    let hold = false;
    const store = wrapStore(inner, {
      append: async (id, batch) => {
        if (hold) await held.promise;
        return await inner.append(id, batch);
      },
    });
    await using harness = await openHarness({ chat, store });
    const run = await submit(harness);
    chat.say('one');
    await until(harness, run, 'one');
    hold = true;
    chat.say(' two');
    for (let n = 0; n < 50; n++) {
      await turnOfLoop();
      assert.equal((await poll(harness, run)).output_text, 'one');
    }
    held.resolve();
    await until(harness, run, 'one two');
  });

  it('makes another instance read only what is new', async () => {
    await using owner = await openHarness({ chat, store: inner });
    const run = await submit(owner);
    const { store, reads } = counting(inner);
    await using other = await openHarness({ chat, store });
    chat.say(LONG);
    await until(other, run, LONG);
    reads.length = 0;
    chat.say('y');
    const response = await until(other, run, `${LONG}y`);
    assert.ok(
      reads.every(({ bytes }) => bytes < 500),
      JSON.stringify(reads),
    );
    // Many at once: each sees all of it, none counts an event twice.
    chat.say('z');
    await until(owner, run, `${LONG}yz`);
    const all = await Promise.all(Array.from({ length: 20 }, () => poll(other, run)));
    for (const each of all) assert.equal(each.output_text, `${LONG}yz`);
    assert.ok(response.output_text.endsWith('y'), 'what was given does not grow');
  });
});

describe('Snapshots', () => {
  it('stays within a number of bytes by evicting the least recently used', async () => {
    const inner = await memoryStore();
    // Two events with it, four million bytes: sixteen such logs may be kept.
    const long = question({ metadata: { pad: 'x'.repeat(2 ** 21) } });
    const { run } = newRunOf(newRunId(), long, { now: Date.now(), retentionMs: 60_000, request: '{}' });
    await inner.create(run);
    const { store, reads } = counting(inner);
    const snapshots = new Snapshots({
      read: (_, options) => store.read(run.id, options),
      get: () => inner.get(run.id),
    });
    const ids = Array.from({ length: 20 }, () => newRunId());
    for (const id of ids) assert.ok(await snapshots.of({ id, last: 2 }));
    reads.length = 0;
    for (const id of [ids[19], ids[0]]) await snapshots.of({ id: id ?? assert.fail(), last: 2 });
    assert.deepEqual(
      reads.filter(({ bytes }) => bytes > 0).map(({ after }) => after),
      [0],
    );
    await inner.close();
  });
});

describe('the fold of a long log', () => {
  it('yields to the event loop', async () => {
    const store = await memoryStore();
    const id = newRunId();
    const request = JSON.stringify({ input: [], request: question().request });
    await store.create(newRunOf(id, question(), { now: Date.now(), retentionMs: 60_000, request }).run);
    const claim = (await store.claim(id, { leaseMs: 60_000, force: true })) ?? assert.fail();
    const lease = new RunLease(claim, { store, log: silentLogger });
    const writer = new LogWriter({
      store,
      lease,
      tick: new AppendTick({ utilization: 0, lagMs: 0 }),
      last: 2,
      entries: 0,
      graceMs: 1000,
      log: silentLogger,
      clock: systemClock,
    });
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] } as const;
    writer.push({ type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } });
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] } as const;
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    writer.push({ type: 'response.content_part.added', ...place, part: { ...part, annotations: [], logprobs: [] } });
    const EVENTS = 60_000;
    for (let n = 0; n < EVENTS; n++) {
      writer.push({ type: 'response.output_text.delta', ...place, delta: 'word ', logprobs: [] });
    }
    await writer.flush();
    let turns = 0;
    let reading = true;
    const counted = (async () => {
      for (; reading; turns++) await turnOfLoop();
    })();
    const response = await new Snapshots(store).of({ id, last: EVENTS + 4 });
    reading = false;
    await counted;
    assert.equal(response?.output_text.length, EVENTS * 5);
    assert.ok(turns > 10, `${turns} turns of the event loop`);
    await store.close();
  });
});

describe('a log cut by a failover', () => {
  it('is folded again', async () => {
    const store = await memoryStore();
    const snapshots = new Snapshots({
      read: (id, options) => current().read(id, options),
      get: (id) => current().get(id),
    });
    let lost = false;
    const other = await memoryStore();
    const current = () => (lost ? other : store);
    const id = newRunId();
    const request = JSON.stringify({ input: [], request: question().request });
    for (const each of [store, other]) {
      await each.create(newRunOf(id, question(), { now: 1_750_000_000_000, retentionMs: 60_000, request }).run);
      const claim = (await each.claim(id, { leaseMs: 60_000, force: true })) ?? assert.fail();
      const lease = new RunLease(claim, { store: each, log: silentLogger });
      const writer = new LogWriter({
        store: each,
        lease,
        tick: new AppendTick({ utilization: 0, lagMs: 0 }),
        last: 2,
        entries: 0,
        graceMs: 1000,
        log: silentLogger,
        clock: systemClock,
      });
      const call = { id: 'tc_1', type: 'tool_call', name: 'lookup', arguments: '{}', status: 'in_progress' } as const;
      writer.push({ type: 'response.output_item.added', output_index: 0, item: call });
      if (each === store)
        writer.push({ type: 'response.output_item.added', output_index: 1, item: { ...call, id: 'tc_2' } });
      await writer.flush();
    }
    assert.equal((await snapshots.of({ id, last: 4 }))?.output.length, 2);
    lost = true;
    assert.equal((await snapshots.of({ id, last: 3 }))?.output.length, 1);
    await store.close();
    await other.close();
  });
});
