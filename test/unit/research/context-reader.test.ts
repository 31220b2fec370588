import assert from 'node:assert/strict';
import { mock } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { createContextWindow } from '../../../src/research/context/window.ts';
import { cutPieces } from '../../../src/research/reading/pieces.ts';
import { readTranscript } from '../../../src/runs/stored/stored-transcript.ts';
import type { ToolContext } from '../../../src/tools/tool.ts';
import { estimateTokens } from '../../../src/upstream/decoding/estimate.ts';
import { TurnError } from '../../../src/upstream/turn.ts';
import { codesIn, handbook, telling } from '../../support/handbook.ts';
import { textOf } from '../../support/research-run.ts';
import { openHarness, question, runToEnd, testConfig } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';

const LENGTH = 200_000;
const book = handbook({ chapters: 1, length: LENGTH });
const ASKED = { url: 'https://handbook.example/chapter-1', goal: 'the access code of chapter 1' };

/** One run that fetches a huge page, for each of the `goals`; `read` is what the reader says of each piece. */
async function readHuge(options: {
  read: (text: string, n: number) => ScriptedTurn;
  args?: object;
  goals?: string[];
  request?: object;
  budget?: object;
  tools?: typeof book.tools;
}) {
  const read: string[] = [];
  const { goals = [ASKED.goal] } = options;
  const usage = { inputTokens: 10, outputTokens: 5, cost: 0.0001 };
  const chat = new ScriptedModel((request) => {
    const text = textOf(request);
    if (text.includes('You read one piece of a long document')) return options.read(text, read.push(text) - 1);
    if (isAnswerTurn(request)) return { text: [telling(codesIn(text))], usage };
    const done = request.messages.some(({ role }) => role === 'tool');
    return done
      ? { text: ['Ready.'], usage }
      : {
          calls: goals.map((goal) => ({ name: 'fetch_url_content', arguments: { ...ASKED, goal, ...options.args } })),
          usage,
        };
  });
  const config = testConfig({
    model: {
      context_length: 24_000,
      max_completion_tokens: 3000,
      routes: [{ provider: 'demo', model: 'demo', price: { input: 1, output: 1 } }],
    },
    research: { budgets: { medium: options.budget ?? {} } },
  });
  await using harness = await openHarness({ chat, tools: options.tools ?? book.tools, config });
  const { response } = await runToEnd(harness, question({ research: options.request ?? {} }));
  const [call] = response.output.filter((item) => item.type === 'tool_call');
  return { response, read, result: JSON.parse(call?.result ?? '{}'), told: codesIn(response.output_text) };
}

const notes = (text: string): ScriptedTurn => {
  const codes = codesIn(text);
  return { text: [codes.size > 0 ? telling(codes) : 'NOTHING'] };
};

describe('the reader of huge pages', () => {
  it('gets question, goal and each piece as data, and its notes replace the page', async () => {
    const { read, result, told, response } = await readHuge({ read: notes });
    assert.equal(told.get(1), book.code(1));
    assert.ok(read.length > 5);
    assert.match(read[0] ?? '', /What is a run\?/);
    assert.match(read[0] ?? '', /the access code of chapter 1/);
    assert.match(read[0] ?? '', /piece 1 of \d+:\\n<tool_result-\w+>/);
    assert.match(result.content, /^Notes on a document of \d+ characters, read in \d+ pieces:\n/);
    assert.equal(result.truncated, false);
    assert.equal(result.source_id, 1);
    assert.equal(result.next_offset, undefined);
    assert.equal(response.usage.total_tokens, 15 * (read.length + 3), 'what it costs is counted');
  });

  it('reads the parts that arrived within the time limit of the tool', async () => {
    const dripping = (from: number) =>
      book.tools.map((tool) => ({
        ...tool,
        timeoutMs: 200,
        call: (args: JsonObject, context: ToolContext) =>
          Number(args.offset ?? 0) < from ? tool.call(args, context) : new Promise<never>(() => {}),
      }));
    const none = await readHuge({ read: notes, tools: dripping(0) });
    assert.equal(none.result.error.code, 'timeout');
    assert.match(none.result.error.message, /within 0\.2 s/);
    const first = await readHuge({ read: notes, tools: dripping(1) });
    assert.match(first.result.content, /^Notes on /, 'what is there is read');
  });

  it('leaves the key facts of a piece in its place if it fails', async () => {
    const broken = new TurnError('failed', 'the reader is away', { started: false });
    const { told, response } = await readHuge({ read: () => ({ breaks: broken }) });
    assert.equal(response.status, 'completed');
    assert.equal(told.get(1), book.code(1));
  });

  it('leaves the key facts, too, if it only thinks until its length is used up', async () => {
    const { told } = await readHuge({ read: () => ({ reasoning: ['Hm.'], finish: 'length' }) });
    assert.equal(told.get(1), book.code(1));
  });

  it('reads in halves if its context is smaller than assumed', async () => {
    const tooLong = new TurnError('context_length', 'too long', { started: false });
    const { told, read } = await readHuge({
      read: (text) => (text.length > 9000 ? { breaks: tooLong } : notes(text)),
    });
    assert.equal(told.get(1), book.code(1));
    assert.ok(read.some((text) => text.length <= 9000));
  });

  it('is stopped if it never ends', async () => {
    const { result, response } = await readHuge({ read: () => ({ text: ['word '.repeat(40_000)] }) });
    assert.equal(response.status, 'completed');
    assert.ok(result.content.length < 60_000, `${result.content.length}`);
  });

  it('keeps to the token budget: the rest of the page is reduced without it', async () => {
    const { read, told, response } = await readHuge({ read: notes, budget: { tokens: 100 } });
    assert.ok(read.length >= 5 && read.length <= 8, `${read.length} pieces were read, at 15 tokens each`);
    assert.equal(told.get(1), book.code(1));
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
  });

  it('keeps to max_cost together with the readers of the other pages of a turn', async () => {
    const usage = { inputTokens: 12_000, outputTokens: 2000, cost: 0.014 };
    const { read, response } = await readHuge({
      read: (text) => ({ ...notes(text), usage }),
      goals: ['a', 'b', 'c', 'd', 'e', 'f'],
      request: { maxCost: 0.2 },
    });
    assert.ok(read.length > 3, `${read.length} pieces were read`);
    assert.ok((response.usage.cost?.total ?? 1) <= 0.2, JSON.stringify(response.usage.cost));
  });

  it('reads no further piece once one has failed in a way that ends the call', async () => {
    const overloaded = new GatewayError('overloaded', 'Too many requests wait for a provider that limits them.');
    const { read, result } = await readHuge({ read: (_, n) => (n === 3 ? { breaks: overloaded } : notes('')) });
    assert.equal(result.error.code, 'internal_error');
    assert.ok(read.length <= 6, `${read.length} pieces were read`);
  });

  it('is abandoned if it hangs, and the rest of the page is reduced without it', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const reading = readHuge({
        read: (text, n) => {
          if (n === 4) setImmediate(() => mock.timers.tick(181_000));
          return n >= 4 ? { gate: new Promise(() => {}) } : notes(text);
        },
      });
      const { told, response } = await reading;
      assert.equal(response.status, 'completed');
      assert.equal(told.get(1), book.code(1));
    } finally {
      mock.timers.reset();
    }
  });

  it('is not used if the model asks for a certain part of the page', async () => {
    const { read, result } = await readHuge({ read: notes, args: { offset: 48_000 } });
    assert.equal(read.length, 0);
    assert.equal(result.content, book.chapter(1).slice(48_000, 72_000));
    assert.equal(result.next_offset, 72_000);
  });
});

describe('cutPieces', () => {
  it('returns pieces that join to the text and keep to their size', () => {
    const part = fc.constantFrom(
      'A sentence of words. ',
      '\n\n',
      '深度研究的结果。',
      '👩‍🔬',
      'x'.repeat(50),
      '  ',
      '{"a":1},',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 400 }), fc.integer({ min: 20, max: 800 }), (parts, tokens) => {
        const text = parts.join('');
        const pieces = cutPieces(text, tokens);
        assert.equal(pieces.join(''), text);
        for (const piece of pieces) {
          assert.ok(estimateTokens(piece) <= tokens + 1, `${estimateTokens(piece)} of ${tokens}`);
          assert.ok(piece.isWellFormed());
        }
      }),
      { seed: 9, numRuns: 200 },
    );
  });
});

describe('the context window', () => {
  const open = () => createContextWindow({ contextLength: 32_000, answerTokens: 4000, compactAt: 0.42 });

  it('leaves room for the answer, within reason', () => {
    assert.ok(open().room < 28_000 && open().room > 24_000);
    const room = (answerTokens: number) =>
      createContextWindow({ contextLength: 32_000, answerTokens, compactAt: 0.42 }).room;
    assert.ok(room(30_000) > 20_000, 'an answer longer than the context leaves room to research');
    assert.ok(room(10) < 28_000, 'a short answer leaves room to think');
  });

  it('follows the token counts of the provider', () => {
    const window = open();
    const before = window.room;
    window.learn(10_000, 20_000);
    assert.equal(window.room, Math.floor(before / 2));
    assert.ok(Math.abs(window.roomToWrite(10_000) - 11_000) < 1000);
    window.learn(10_000, 10_000);
    assert.ok(Math.abs(window.room - before) <= 1, 'the last count counts');
    window.learn(100, 5000);
    assert.ok(Math.abs(window.room - before) <= 1, 'small requests tell little');
  });

  it('stays below what was refused, and says when it cannot shrink further', () => {
    const window = open();
    assert.ok(window.refused(20_000));
    assert.ok(window.room < 14_000);
    assert.ok(!window.refused(19_900), 'it did not get smaller: what is fixed fills it');
    assert.ok(window.refused(12_000));
    assert.ok(window.room < 8000);
    let refusals = 0;
    while (window.refused(window.room)) assert.ok(++refusals < 12);
    assert.ok(window.room < 1000);
  });

  it('does not shrink twice for one reason', () => {
    const window = open();
    window.refused(26_000);
    window.learn(15_000, 30_000);
    assert.ok(window.room > 12_000, `${window.room}`);
  });
});

describe('a configured reader', () => {
  async function evidenceOf(length: number, research: object) {
    const page = handbook({ chapters: 1, length });
    const read: string[] = [];
    const chat = new ScriptedModel((request) => {
      const text = textOf(request);
      if (text.includes('You read one piece of a long document')) {
        read.push(text);
        return { text: ['- The access code of chapter 1 is HERON-1.\n- It is told nowhere else.'] };
      }
      if (isAnswerTurn(request)) return { text: ['It is known.'] };
      const done = request.messages.some(({ role }) => role === 'tool');
      return done ? { text: ['Ready.'] } : { calls: [{ name: 'fetch_url_content', arguments: ASKED }] };
    });
    const config = testConfig({ model: { context_length: 60_000, max_completion_tokens: 3000 }, research });
    await using harness = await openHarness({ chat, tools: page.tools, config });
    const { run, response } = await runToEnd(harness, question());
    const entries = await readTranscript(harness.store, run.id);
    const result = entries.find((entry) => entry.t === 'result');
    return { read, result, response, text: page.chapter(1) };
  }
  const reader = [{ provider: 'demo', model: 'demo' }];

  it('writes records of a long page, quotes with their position, and leaves the page whole', async () => {
    const { read, result, response, text } = await evidenceOf(16_000, { reader });
    assert.ok(read.length >= 1);
    const [quote, note] = result?.records ?? [];
    assert.deepEqual([quote?.by, quote?.source, quote?.turn], ['reader', 1, 1]);
    assert.equal(quote?.quote, 'The access code of chapter 1 is HERON-1.');
    assert.equal(quote?.at, text.indexOf('The access code'));
    assert.equal(note?.note, 'It is told nowhere else.');
    assert.equal(JSON.parse(result?.result ?? '{}').content, text, 'the researching model sees the page');
    assert.equal(response.usage.num_tool_calls, 1);
    assert.ok(response.usage.total_tokens > 45, 'reading is counted');
  });

  it('is used only for long pages', async () => {
    const short = await evidenceOf(3000, { reader });
    assert.deepEqual([short.read.length, short.result?.records?.[0]?.by], [0, 'tool']);
    const none = await evidenceOf(16_000, {});
    assert.deepEqual([none.read.length, none.result?.records?.[0]?.by], [0, 'tool']);
  });
});
