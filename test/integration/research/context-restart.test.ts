import assert from 'node:assert/strict';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import { offsetAfter } from '../../../src/store/frames.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import {
  type AssistantMessage,
  type ChatModel,
  TurnError,
  type TurnMessage,
  type TurnPart,
  type TurnRequest,
} from '../../../src/upstream/turn.ts';
import { until } from '../../support/http-gateway.ts';
import { openHarness, question, readAll, testConfig, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

interface SaidTurn {
  reasoning?: string;
  text?: string;
  calls?: { name: string; arguments: object }[];
  tooLong?: true;
}

const page = (...names: string[]) => names.map((name) => ({ name: 'lookup', arguments: { q: name } }));

/** The turns of a run that covers most cases of the loop, in a narrow context. The last turn is the answer. */
const TURNS: SaidTurn[] = [
  { reasoning: 'I look around.', calls: page('p0', 'p1') },
  { reasoning: 'Further.', text: 'I note p0 [1].', calls: page('p2') },
  { tooLong: true },
  { reasoning: 'With less.', calls: page('p3') },
  { reasoning: 'Hm.' },
  { calls: page('none') },
  { calls: page('p0') },
  { calls: [...page('p4'), { name: 'unknown', arguments: {} }] },
  { calls: page('p0') },
  { calls: page('p1') },
  { calls: page('p2') },
  { reasoning: 'Anew.', calls: page('p5') },
  { text: 'The height is missing.', calls: page('p6', 'p7', 'p8') },
  { text: 'I am ready now.' },
  { text: 'All of it is known [1], and the rest follows from it as the pages say.' },
];

/** Plays the turns in order, and moves on when a turn was received to its end. Hangs at `hangAt`. */
class Conversation {
  readonly requests: TurnMessage[][] = [];
  #heard = 0;
  /** The request to hang at, counted from 0, before the turn or halfway through it. */
  hangAt: { request: number; halfway: boolean } | undefined;

  chat(): ChatModel {
    const conversation = this;
    return {
      async *turn(request: TurnRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<TurnPart> {
        const n = conversation.requests.push(withoutNonce(request.messages)) - 1;
        const hangs = conversation.hangAt?.request === n ? conversation.hangAt : undefined;
        const hang = () =>
          new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        if (hangs && !hangs.halfway) await hang();
        const said = TURNS[conversation.#heard] ?? assert.fail('there is no such turn');
        const continued = String(request.messages.at(-1)?.content).includes('Your answer was interrupted');
        let half = false;
        for (const part of partsOf(continued ? rest(said, request) : said, conversation.#heard)) {
          if (hangs && (half || part.type === 'finish')) await hang();
          if (part.type === 'finish') conversation.#heard++;
          yield part;
          half = true;
        }
        if (said.tooLong) {
          if (hangs) await hang();
          conversation.#heard++;
          throw new TurnError('context_length', 'too long', { started: false });
        }
      },
    };
  }
}

/** The messages without the nonce of the fence, which differs from run to run. */
function withoutNonce(messages: readonly TurnMessage[]): TurnMessage[] {
  return JSON.parse(JSON.stringify(messages).replaceAll(/tool_result-[a-z]{12}/g, 'tool_result-nonce'));
}

function rest(said: SaidTurn, request: TurnRequest): SaidTurn {
  const before = request.messages.at(-2)?.content;
  const { text = '' } = said;
  assert.ok(typeof before === 'string' && text.startsWith(before));
  return { text: text.slice(before.length) };
}

function* partsOf(said: SaidTurn, n: number): Generator<TurnPart> {
  if (said.tooLong) return;
  for (const delta of halves(said.reasoning)) yield { type: 'reasoning', delta };
  for (const delta of halves(said.text)) yield { type: 'text', delta };
  const tool_calls = (said.calls ?? []).map(({ name, arguments: args }, i) => ({
    id: `call_${n}_${i}`,
    name,
    arguments: JSON.stringify(args),
  }));
  const message: AssistantMessage = {
    role: 'assistant',
    content: said.text ?? '',
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  // More than the gateway's estimate, and different each time.
  const usage = {
    inputTokens: 3600 + n * 120,
    cachedTokens: 0,
    outputTokens: 20,
    reasoningTokens: 0,
    estimated: false,
  };
  yield { type: 'finish', reason: tool_calls.length > 0 ? 'tool_calls' : 'stop', usage, message };
}

function halves(text = ''): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
}

/** A tool that returns pages; the one named by `holds` never arrives. */
function pages(holds?: { page: string; reached: () => void }): Tool {
  return testTool('lookup', async ({ q }) => {
    if (holds && holds.page === q) {
      holds.reached();
      await new Promise(() => {});
    }
    if (q === 'none') return { result: '{"results":[]}' };
    const content = Array.from({ length: 40 }, (_, i) => `Page ${q} says thing ${i} of the ${i * 7} that are known.`);
    return {
      result: JSON.stringify({
        title: `Page ${q}`,
        url: `https://pages.example/${q}`,
        content: content.join(' '),
        source_id: 1,
      }),
      sources: [{ url: `https://pages.example/${q}`, title: `Page ${q}`, snippet: '', kind: 'read' }],
    };
  });
}

const CONFIG = testConfig({
  model: { context_length: 5000, max_completion_tokens: 500 },
  research: { keep_tool_results: 2 },
});
const DAY = 86_400_000;

/** How an instance ends: it hands its run over, or it dies and its claim expires. */
type End = 'handed over' | 'died';

async function uninterrupted() {
  const conversation = new Conversation();
  await using harness = await openHarness({ chat: conversation.chat(), tools: [pages()], config: CONFIG });
  const { run } = await harness.runs.submit(question());
  const bytes = await readAll(harness.runs, run);
  return { requests: conversation.requests, response: lastResponse(bytes) };
}

function lastResponse(bytes: Uint8Array) {
  const last = decodeFrames(bytes).at(-1);
  assert.ok(last?.type === 'response.completed', JSON.stringify(last && 'response' in last && last.response.error));
  return last.response;
}

/** Ends the first instance of a run once `reached` is true; returns the requests of the second one and the response. */
async function interrupted(options: { conversation: Conversation; tool: Tool; reached: () => boolean; end: End }) {
  const { conversation, tool, reached, end } = options;
  await using store = await disposable(memoryStore());
  let run: RunRecord;
  {
    await using first = await openHarness({
      chat: conversation.chat(),
      tools: [tool],
      config: CONFIG,
      store: store.store,
    });
    ({ run } = await first.runs.submit(question()));
    await until(() => (reached() ? true : undefined));
    await settled(store.store, run);
    if (end === 'died') {
      await store.store.claim(run.id, { leaseMs: 0, force: true });
    }
    await first.executor.stop({ graceMs: 0 });
  }
  conversation.hangAt = undefined;
  const from = conversation.requests.length;
  await using second = await openHarness({
    chat: conversation.chat(),
    tools: [pages()],
    config: CONFIG,
    store: store.store,
    clock: { now: () => Date.now() + 2 * DAY },
  });
  const response = lastResponse(await readAll(second.runs, run));
  return { requests: conversation.requests.slice(from), response };
}

async function disposable(opening: Promise<RunStore>) {
  const store = await opening;
  return { store, [Symbol.asyncDispose]: () => store.close() };
}

/** Waits until everything that was emitted is stored. */
async function settled(store: RunStore, run: RunRecord): Promise<void> {
  let last = -1;
  await until(async () => {
    const now = (await store.get(run.id))?.last ?? 0;
    const same = now === last;
    last = now;
    return same ? true : undefined;
  });
}

describe('a run that is taken over', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  let whole: Awaited<ReturnType<typeof uninterrupted>>;

  before(async () => {
    whole = await uninterrupted();
  });

  it('meets all these cases when it is not interrupted', () => {
    const sent = JSON.stringify(whole.requests);
    assert.equal(whole.requests.length, TURNS.length);
    for (const part of [
      /neither called a tool/,
      /Nothing was found/,
      /exactly this call before/,
      /An earlier attempt/,
      /no tool named unknown/,
    ])
      assert.match(sent, part);
    assert.ok(
      JSON.stringify(whole.requests[3]).length < JSON.stringify(whole.requests[2]).length,
      'the next request is smaller',
    );
    assert.equal(whole.response.incomplete_details, null);
  });

  for (const end of ['handed over', 'died'] as const) {
    for (const halfway of [false, true]) {
      it(`(${end}) sends the requests that it would have sent, whichever turn was ${halfway ? 'under way' : 'about to begin'}`, async () => {
        for (const at of whole.requests.keys()) {
          const conversation = new Conversation();
          conversation.hangAt = { request: at, halfway };
          const reached = () => conversation.requests.length > at;
          const { requests, response } = await interrupted({ conversation, tool: pages(), reached, end });
          const answerCut = at === TURNS.length - 1 && halfway;
          if (answerCut) {
            const [continuation, ...others] = requests;
            assert.equal(others.length, 0);
            assert.deepEqual(continuation?.slice(0, 2), whole.requests.at(-1)?.slice(0, 2));
            assert.equal(continuation?.at(-2)?.content, halves(TURNS.at(-1)?.text)[0]);
          } else assert.deepEqual(requests, whole.requests.slice(at), `at request ${at}`);
          assert.equal(response.output_text, whole.response.output_text);
          assert.equal(response.usage.num_tool_calls, whole.response.usage.num_tool_calls);
          const { total_tokens } = response.usage;
          const shown = halfway && (TURNS[at]?.reasoning ?? TURNS[at]?.text) !== undefined;
          // A process that died cannot say what it asked, so the prompt is estimated.
          if (shown || end === 'died')
            assert.ok(total_tokens > whole.response.usage.total_tokens, `the cut turn ${at} is counted`);
          else assert.equal(total_tokens, whole.response.usage.total_tokens);
        }
      });
    }

    it(`(${end}) sends the requests that it would have sent, whichever tool call was under way`, async () => {
      for (const heldPage of ['p0', 'p1', 'p2', 'p3', 'none', 'p4', 'p5', 'p7', 'p8']) {
        const conversation = new Conversation();
        let reached = false;
        const tool = pages({ page: heldPage, reached: () => (reached = true) });
        const { requests, response } = await interrupted({ conversation, tool, reached: () => reached, end });
        const sent = new Set(whole.requests.map((messages) => JSON.stringify(messages)));
        const outOfOrder = heldPage === 'p0' || heldPage === 'p7';
        if (!outOfOrder) assert.deepEqual(requests, whole.requests.slice(-requests.length), heldPage);
        else assert.ok(requests.some((messages) => sent.has(JSON.stringify(messages))));
        assert.equal(response.usage.total_tokens, whole.response.usage.total_tokens);
        assert.equal(response.usage.num_tool_calls, whole.response.usage.num_tool_calls);
      }
    });
  }

  for (const format of [null, { type: 'json_object' }] as const) {
    it(`needs no model between the end of its ${format ? 'structured ' : ''}answer and its last event`, async () => {
      const store = await memoryStore();
      const stuck = Promise.withResolvers<void>();
      const over = Promise.withResolvers<void>();
      const neverEnding = wrapStore(store, {
        append: async (id, batch) => {
          if (!batch.end) return await store.append(id, batch);
          // Today the answer and the end are one append. Older gateways stored them apart, as this does.
          const { end: _, frames, ...rest } = batch;
          const count = decodeFrames(frames).findIndex(({ type }) => type === 'response.output_text.done');
          const answerOnly = frames.subarray(0, offsetAfter(frames, count));
          assert.equal((await store.append(id, { ...rest, frames: answerOnly, count })).result, 'ok');
          stuck.resolve();
          await over.promise;
          return await store.append(id, batch);
        },
      });
      const text = '{"all": "is known"}';
      const model = new ScriptedModel((request) => (isAnswerTurn(request) ? { text: [text] } : { text: ['Ready.'] }));
      await using first = await openHarness({ chat: model, tools: [pages()], store: neverEnding });
      const { run } = await first.runs.submit(question({ research: { format } }));
      await stuck.promise;
      await store.claim(run.id, { leaseMs: 0, force: true });

      const silent = new ScriptedModel(() => assert.fail('no model is needed'));
      await using second = await openHarness({ chat: silent, tools: [pages()], store });
      const response = lastResponse(await readAll(second.runs, run));
      assert.equal(response.output_text, text);
      assert.equal(response.usage.total_tokens, 30);
      assert.equal(silent.requests.length, 0);
      over.resolve();
    });
  }
});
