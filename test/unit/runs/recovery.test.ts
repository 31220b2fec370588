import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { GatewayError } from '../../../src/base/errors.ts';
import { publicId } from '../../../src/base/ids.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import type { ResearchRequest } from '../../../src/research/run/request.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { closingStep } from '../../../src/runs/executing/driving/interrupted-item.ts';
import { LEASE_MS } from '../../../src/runs/executing/run-lease.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import { NewerDataError } from '../../../src/runs/stored/stored-data.ts';
import type { Claim, RunStore } from '../../../src/store/run-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { eventually } from '../../support/eventually.ts';
import { lookups } from '../../support/research-run.ts';
import { openHarness, question, readAll, testConfig, testTool } from '../../support/run-harness.ts';
import { cutTurn, isAnswerTurn, ScriptedModel, type ScriptedTurn, TURN_USAGE } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { faultyStore, memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const FOREVER: ScriptedTurn = { gate: new Promise(() => {}) };

/** Counts how often each word was looked up; a word can be held. */
function countingTool() {
  const made = new Map<string, number>();
  const held = new Set<string>();
  const tool: Tool = testTool('lookup', async ({ q }) => {
    const word = String(q);
    made.set(word, (made.get(word) ?? 0) + 1);
    if (held.has(word)) await new Promise(() => {});
    return { result: `{"found":"${word}"}` };
  });
  return { tool, made, held };
}

/** Two rounds of tool calls, then the answer. */
const twoRounds = (request: TurnRequest): ScriptedTurn => {
  if (isAnswerTurn(request)) return { text: ['The ', 'answer.'] };
  const rounds = request.messages.filter((message) => message.role === 'tool').length;
  if (rounds === 0) return { reasoning: ['First.'], calls: lookups('a', 'b') };
  return rounds === 2 ? { reasoning: ['Second.'], calls: lookups('c') } : { text: ['Ready.'] };
};

async function responseOf(bytes: Uint8Array) {
  const events = decodeFrames(bytes);
  for (const [index, event] of events.entries()) assert.equal(event.sequence_number, index + 1);
  const last = events.at(-1);
  assert.ok(last?.type === 'response.completed' || last?.type === 'response.failed');
  return last.response;
}

describe('a run that is handed over', function () {
  // Claims run out, and the store is away now and then.
  this.timeout(patience(30));
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  it('continues elsewhere from its last finished step; a reader resumes without gap or repeat', async () => {
    const { tool, made } = countingTool();
    const before: Buffer[] = [];
    let run: RunRecord;
    {
      const chat = new ScriptedModel((request) =>
        request.messages.some((message) => message.role === 'tool') ? FOREVER : twoRounds(request),
      );
      await using first = await openHarness({ chat, tools: [tool], store });
      ({ run } = await first.runs.submit(question()));
      const reading = readAll(first.runs, run).then((bytes) => before.push(bytes));
      while (chat.requests.length < 2) await turnOfLoop();
      await first.stop();
      await reading;
    }
    const seen = Buffer.concat(before);
    const cut = decodeFrames(seen);
    assert.ok(!cut.some((event) => event.type === 'response.failed' || event.type === 'response.completed'));

    const chat = new ScriptedModel(twoRounds);
    await using second = await openHarness({ chat, tools: [tool], store });
    const current = await store.get(run.id);
    assert.ok(current);
    const rest = await readAll(second.runs, current, cut.at(-1)?.sequence_number ?? 0);
    const response = await responseOf(Buffer.concat([seen, rest]));
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'The answer.');
    assert.deepEqual(Object.fromEntries(made), { a: 1, b: 1, c: 1 });
    assert.equal(chat.requests.length, 3, 'the finished turn is not paid for again');
  });

  it('may be handed over many times without counting as crashed', async () => {
    let run: RunRecord | undefined;
    for (let n = 0; n < 12; n++) {
      const chat = new ScriptedModel(() => FOREVER);
      const harness = await openHarness({ chat, tools: [countingTool().tool], store });
      run ??= (await harness.runs.submit(question())).run;
      while (chat.requests.length === 0) await turnOfLoop();
      await harness.executor.stop({ graceMs: 0 });
      await harness[Symbol.asyncDispose]();
    }
    await using last = await openHarness({ chat: new ScriptedModel([]), tools: [countingTool().tool], store });
    assert.ok(run);
    const response = await responseOf(await readAll(last.runs, run));
    assert.equal(response.status, 'completed');
  });

  it('checks a structured answer again that it has paid for, and its repair', async () => {
    const format: ResearchRequest['format'] = {
      ...{ type: 'json_schema', name: 'age', strict: undefined, description: undefined },
      schema: { type: 'object', required: ['years'] },
    };
    const answers = ['{"age": 7}', '{"years": 7}'];
    const model = () => {
      const chat: ScriptedModel = new ScriptedModel((request) =>
        isAnswerTurn(request)
          ? { text: [answers[request.messages.some(({ content }) => content === answers[0]) ? 1 : 0] ?? ''] }
          : { text: ['Ready.'] },
      );
      return chat;
    };
    for (const paid of [1, 2]) {
      const reached = Promise.withResolvers<void>();
      let drafts = 0;
      const append: RunStore['append'] = async (id, batch) => {
        const appended = await store.append(id, batch);
        drafts += batch.transcript?.filter((entry) => entry.includes('"t":"draft"')).length ?? 0;
        if (drafts < paid) return appended;
        reached.resolve();
        return await new Promise(() => {});
      };
      const first = await openHarness({ chat: model(), store: wrapStore(store, { append }) });
      const { run } = await first.runs.submit(question({ research: { format } }));
      await reached.promise;
      await store.claim(run.id, { leaseMs: 0, force: true });
      const chat = model();
      await using second = await openHarness({ chat, store });
      const response = await responseOf(await readAll(second.runs, run));
      assert.equal(response.output_text, answers[1]);
      assert.equal(chat.requests.length, 2 - paid);
      assert.equal(response.usage.total_tokens, 2 * (TURN_USAGE.inputTokens + TURN_USAGE.outputTokens));
      void first[Symbol.asyncDispose]();
    }
  });

  it('repeats only tool calls without a result, and keeps their items', async () => {
    const { tool: counting, made, held } = countingTool();
    const tool: Tool = {
      ...counting,
      call: (args, context) => {
        context.onSearch?.(1);
        return counting.call(args, context);
      },
    };
    held.add('b');
    let run: RunRecord;
    {
      await using first = await openHarness({ chat: new ScriptedModel(twoRounds), tools: [tool], store });
      ({ run } = await first.runs.submit(question()));
      while ((await store.readTranscript(run.id)).length < 2) await turnOfLoop();
      await first.executor.stop({ graceMs: 0 });
    }
    held.clear();
    await using second = await openHarness({ chat: new ScriptedModel(twoRounds), tools: [tool], store });
    const bytes = await readAll(second.runs, run);
    const response = await responseOf(bytes);
    assert.deepEqual(Object.fromEntries(made), { a: 1, b: 2, c: 1 });
    assert.equal(response.usage.num_tool_calls, 3);
    assert.equal(response.usage.num_search_queries, 4, 'the search of the call that was cut was sent, too');
    const added = decodeFrames(bytes).filter((event) => event.type === 'response.output_item.added');
    assert.equal(added.length, response.output.length, 'no second added');
  });
});

describe('a run whose instances die', function () {
  // Claims run out, and the store is away now and then.
  this.timeout(patience(30));
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  /** A run whose owner died `times` times. */
  async function crashed(times: number, api: 'responses' | 'chat_completions' = 'responses'): Promise<RunRecord> {
    const harness = await openHarness({ chat: new ScriptedModel(() => FOREVER), store });
    await harness.executor.stop({ graceMs: 0 });
    // A chat completion is claimed by the process that holds its connection.
    if (api === 'chat_completions')
      harness.executor.takeRoom = () => ({ claim: { leaseMs: 0 }, begin: () => {}, [Symbol.dispose]() {} });
    const { run } = await harness.runs.submit(question({ api }));
    await harness[Symbol.asyncDispose]();
    for (let n = 0; n < times; n++) await died(run.id);
    return run;
  }

  /** A claim that expires at once. */
  async function died(id: string): Promise<Claim> {
    const claim = await store.claim(id, { leaseMs: 0, force: true });
    assert.ok(claim);
    return claim;
  }

  it('fails with run_crashed after five times without progress', async () => {
    const run = await crashed(5);
    const chat = new ScriptedModel([]);
    await using harness = await openHarness({ chat, store });
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'run_crashed');
    assert.equal(chat.requests.length, 0);
  });

  it('does not count claims that living owners lost', async () => {
    const rounds = 6;
    const ends: (() => void)[] = [];
    const chat = new ScriptedModel((request) => {
      if (chat.requests.length > rounds) return twoRounds(request);
      return { gate: new Promise((resolve) => ends.push(() => resolve(undefined))), text: ['Late.'] };
    });
    await using harness = await openHarness({ chat, tools: [countingTool().tool], store });
    const { run } = await harness.runs.submit(question());
    for (let n = 0; n < rounds; n++) {
      await eventually('its next turn', () => ends.length > n);
      const taken = await store.claim(run.id, { leaseMs: 60_000, force: true });
      ends[n]?.();
      await eventually('the end of the claim', () => !harness.executor.leaseOf(run.id));
      await store.release(run.id, { token: taken?.token ?? '' });
    }
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.status, 'completed');
  });

  for (const [why, thrown] of [
    ['the store is away', new GatewayError('store_unavailable', 'The store is away.')],
    ['a newer gateway wrote its transcript', new NewerDataError('the transcript holds an entry of a newer gateway')],
  ] as const) {
    it(`is released without being counted, and left alone for a while, if ${why}`, async () => {
      const run = await crashed(0);
      const attempts: number[] = [];
      const claimedAt: number[] = [];
      const harness = await openHarness({
        chat: new ScriptedModel([]),
        store: wrapStore(store, {
          readTranscript: async (id) => {
            if (attempts.length < 2) throw thrown;
            return await store.readTranscript(id);
          },
          claimNext: async (options) => {
            const claim = await store.claimNext(options);
            if (claim) attempts.push(claim.attempts);
            if (claim) claimedAt.push(performance.now());
            return claim;
          },
        }),
      });
      await using _ = harness;
      assert.equal((await responseOf(await readAll(harness.runs, run))).status, 'completed');
      assert.deepEqual(attempts, [1, 1]);
      const [first = 0, second = 0] = claimedAt;
      assert.ok(second - first >= LEASE_MS / 2, 'it is not claimed in a tight loop');
    });
  }

  it('goes on if what is stored of it can be read the second time', async () => {
    const run = await crashed(0);
    const attempts: number[] = [];
    await using harness = await openHarness({
      chat: new ScriptedModel([]),
      store: wrapStore(store, {
        readTranscript: async (id) => {
          if (attempts.length < 2) throw new Error('unreadable');
          return await store.readTranscript(id);
        },
        claimNext: async (options) => {
          const claim = await store.claimNext({ ...options, ...(attempts.length === 0 && { leaseMs: 0 }) });
          if (claim) attempts.push(claim.attempts);
          return claim;
        },
      }),
    });
    assert.equal((await responseOf(await readAll(harness.runs, run))).status, 'completed');
    assert.deepEqual(attempts, [1, 2]);
  });

  it('continues after four times', async () => {
    const run = await crashed(4);
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    assert.equal((await responseOf(await readAll(harness.runs, run))).status, 'completed');
  });

  it('continues after more times if it made progress in between', async () => {
    const run = await crashed(4);
    const claim = await died(run.id);
    const entry = JSON.stringify({ t: 'force', reason: 'budget', why: 'time is over' });
    const append = {
      token: claim.token,
      first: 3,
      count: 0,
      frames: Buffer.alloc(0),
      transcript: [entry],
      progress: true,
    };
    assert.equal((await store.append(run.id, append)).result, 'ok');
    for (let n = 0; n < 4; n++) await died(run.id);
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' }, 'the step before the crash counts');
  });

  for (const [what, cut] of [
    ['a cut thought', () => ({ reasoning: ['Hm. '], breaks: cutTurn() })],
    [
      'a part of its answer with a warning',
      (request: TurnRequest) =>
        isAnswerTurn(request) ? { text: ['It is so [7]. ', 'And so on'], breaks: cutTurn() } : { text: ['Ready.'] },
    ],
  ] as const) {
    it(`fails with run_crashed if they leave nothing but ${what}`, async () => {
      const run = await crashed(0);
      const isOpen = async () => (await store.get(run.id))?.status !== 'failed';
      // Each round is two claims: the one that is cut, and the one that takes the run from it.
      for (let round = 0; round < 4; round++) {
        let wasCut = false;
        let hangs = false;
        const chat = new ScriptedModel((request) => {
          hangs = wasCut;
          const turn = cut(request);
          wasCut = 'breaks' in turn;
          return hangs ? FOREVER : turn;
        });
        await using _ = await openHarness({ chat, store });
        await eventually('the cut or the end', async () => hangs || !(await isOpen()));
        if (hangs) await died(run.id);
      }
      await using harness = await openHarness({ chat: new ScriptedModel([]), store });
      const response = await responseOf(await readAll(harness.runs, run));
      assert.equal(response.error?.code, 'run_crashed');
    });
  }

  it('is charged an estimate of the prompt of an interrupted first turn', async () => {
    await using harness = await openHarness({ chat: new ScriptedModel(() => FOREVER), store });
    const conversation = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'word '.repeat(8000) }] }];
    const { run } = await harness.runs.submit(question({ research: { conversation } }));
    const content = [{ type: 'reasoning_text' as const, text: 'Hm. ' }];
    const open = { id: 'rs_1', type: 'reasoning' as const, summary: [], content, status: 'in_progress' as const };
    const entry = closingStep(run, new ResearchState(), open)?.entry;
    assert.ok(entry?.t === 'spent');
    assert.ok(Math.abs(entry.usage.inputTokens - 10_500) <= 1000, `${entry.usage.inputTokens}`);
  });

  it('fails at once if it is a chat completion, whose client is gone', async () => {
    const run = await crashed(1, 'chat_completions');
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.error?.code, 'run_crashed');
  });

  it('fails if it is a chat completion, even if it made progress', async () => {
    const run = await crashed(0, 'chat_completions');
    const { token } = await died(run.id);
    const entry = JSON.stringify({ t: 'force', reason: 'budget', why: 'time is over' });
    const append = { token, first: 3, count: 0, frames: Buffer.alloc(0), transcript: [entry], progress: true };
    assert.equal((await store.append(run.id, append)).result, 'ok');
    const chat = new ScriptedModel([]);
    await using harness = await openHarness({ chat, store });
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.error?.code, 'run_crashed');
    assert.equal(chat.requests.length, 0, 'nothing is paid for');
  });

  it('does not pay again for the answer to a task that its dead owner stored', async () => {
    const submission = question({ api: 'async', request: { kind: 'proxy', body: '{}' } });
    let run: RunRecord;
    {
      await using stopped = await openHarness({ chat: new ScriptedModel([]), store });
      await stopped.executor.stop({ graceMs: 0 });
      ({ run } = await stopped.runs.submit(submission));
    }
    const { token } = await died(run.id);
    const used = { inputTokens: 5, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, cost: 0.5 };
    const transcript = [JSON.stringify({ t: 'proxy_result', body: '{"choices":"paid"}', used })];
    const append = { token, first: 3, count: 0, frames: Buffer.alloc(0), transcript, progress: true };
    assert.equal((await store.append(run.id, append)).result, 'ok');
    const ends: (number | undefined)[] = [];
    await using harness = await openHarness({
      ...{ chat: new ScriptedModel([]), store },
      leaves: ({ ended }) => void ends.push(ended?.used?.cost),
    });
    await readAll(harness.runs, run);
    const task = await harness.runs.taskJson(
      await harness.runs.find(submission.caller, 'async', publicId('async', run.id)),
    );
    assert.match(task, /"choices":"paid"/);
    await eventually('the account of the run', async () => ends.length > 0);
    assert.deepEqual(ends, [0.5]);
  });

  for (const end of ['failed', 'cancelled'] as const) {
    it(`is charged for what a crash cut, even if it ends ${end} at once`, async () => {
      const run = await crashed(0, end === 'failed' ? 'chat_completions' : 'responses');
      const { token } = await died(run.id);
      const item = { id: 'rs_1', type: 'reasoning', summary: [], content: [], status: 'in_progress' };
      const part = { type: 'reasoning_text', text: '' };
      const place = { item_id: 'rs_1', output_index: 0, content_index: 0 };
      const events = [
        { type: 'response.output_item.added', sequence_number: 3, output_index: 0, item },
        { type: 'response.content_part.added', sequence_number: 4, ...place, part },
        { type: 'response.reasoning_text.delta', sequence_number: 5, ...place, delta: 'Hm. ' },
      ];
      const frames = Buffer.from(
        events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
      );
      const appended = await store.append(run.id, { token, first: 3, count: events.length, frames });
      assert.equal(appended.result, 'ok');
      if (end === 'cancelled') await store.requestCancel(run.id);
      const config = testConfig({
        model: { routes: [{ provider: 'demo', model: 'm', price: { input: 1, output: 1 } }] },
      });
      await using harness = await openHarness({ chat: new ScriptedModel([]), store, config });
      const { status, usage } = await responseOf(await readAll(harness.runs, run));
      assert.equal(status, end);
      assert.ok(usage.input_tokens > 500 && usage.output_tokens >= 1, JSON.stringify(usage));
      assert.ok(Math.abs((usage.cost?.total ?? 0) - usage.total_tokens / 1e6) < 1e-9, JSON.stringify(usage));
    });
  }

  it('is taken over once its claim has expired, not before', async () => {
    const run = await crashed(0);
    const now = Date.now();
    const claim = await store.claim(run.id, { leaseMs: 1500, force: true });
    assert.ok(claim);
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    const response = await responseOf(await readAll(harness.runs, run));
    assert.equal(response.status, 'completed');
    assert.ok(Date.now() - now >= 1500);
  });
});

describe('a run whose store is away now and then', function () {
  // Claims run out, and the store is away now and then.
  this.timeout(patience(30));
  it('repeats appends of unknown outcome with the same bytes, and has no gap or repeat in its log', async () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed / 2_147_483_648;
    };
    const store = await memoryStore();
    const faulty = faultyStore(store, () => {
      const chance = random();
      return chance < 0.25 ? 'unanswered' : chance < 0.4 ? 'refused' : 'done';
    });
    const { tool, made } = countingTool();
    {
      await using harness = await openHarness({
        chat: new ScriptedModel(twoRounds),
        tools: [tool],
        store: faulty.store,
      });
      const submitted = await Promise.all(Array.from({ length: 12 }, () => harness.runs.submit(question())));
      for (const { run } of submitted) {
        const live = await readAll(harness.runs, run);
        const response = await responseOf(live);
        assert.equal(response.status, 'completed');
        assert.equal(response.output_text, 'The answer.');
        assert.equal(response.usage.total_tokens, 60, 'no step is counted twice');
        assert.deepEqual(await readAll(harness.runs, run), live);
        const entries = (await store.readTranscript(run.id)).map((text) => JSON.parse(text).t);
        assert.deepEqual(
          entries.toSorted(),
          ['turn', 'result', 'result', 'turn', 'result', 'turn', 'answered'].toSorted(),
        );
      }
    }
    assert.deepEqual(Object.fromEntries(made), { a: 12, b: 12, c: 12 });
    const failed = faulty.tries.filter(({ fate }) => fate !== 'done');
    assert.ok(failed.length > 10, 'the store was away often enough');
    for (const { batch } of failed) {
      const again = faulty.tries.filter(
        (other) => other.batch.token === batch.token && other.batch.first === batch.first,
      );
      const bytes = again.filter((other) => other.batch.count > 0).map((other) => `${other.batch.frames}`);
      assert.equal(new Set(bytes).size <= 1, true, 'a batch is never cut again');
    }
    await store.close();
  });
});
