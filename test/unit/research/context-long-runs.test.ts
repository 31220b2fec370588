import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import type { ResearchRequest } from '../../../src/research/run/request.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { codesIn, type Handbook, handbook, telling } from '../../support/handbook.ts';
import { type NarrowProvider, type NarrowProviderOptions, startNarrowProvider } from '../../support/narrow-provider.ts';
import { MODEL, openHarness, question, runToEnd, testConfig } from '../../support/run-harness.ts';
import type { TurnScript } from '../../support/scripted-provider.ts';

const CONTEXT = 32_000;
const QUESTION = 'Which access code does each chapter of the handbook have?';
const QUESTION_CJK = '手册每一章的访问代码是什么？';

interface LongRun {
  book: Handbook;
  turns: number;
  ask?: string;
  provider?: Partial<NarrowProviderOptions>;
  model?: object;
  request?: Partial<ResearchRequest>;
  /** The calls of research turn n. By default each reads a chapter, every seventh searches for it. */
  calls?: (n: number) => TurnScript;
}

/** One run over real HTTP whose model reads a chapter in each turn, and tells the codes that stand in its context. */
async function longRun(run: LongRun) {
  await using narrow = await startNarrowProvider({
    contextTokens: CONTEXT,
    ...run.provider,
    model: (request) => {
      if (request.reading) return { text: readerNotes(request.text) };
      if (!request.research) return { text: telling(codesIn(request.text)) };
      const n = research(narrow) + 1;
      return n <= run.turns ? (run.calls ?? readOrSearch)(n) : { text: 'I am ready.' };
    },
  });
  const providers = {
    narrow: {
      base_url: narrow.provider.url,
      headers: {},
      timeouts: { connect: 5000, first_byte: 20_000, idle: 20_000 },
    },
  };
  const config = testConfig({
    model: { context_length: CONTEXT, max_completion_tokens: 8000, ...run.model },
    research: { budgets: { medium: { turns: run.turns + 5, tool_calls: 1000, tokens: 100_000_000, minutes: 30 } } },
  });
  const parsed = configSchema.shape.providers.parse(providers);
  await using upstream = createUpstream(parsed, { log: silentLogger });
  const model = { ...configOf(config), routes: [{ provider: 'narrow', model: 'scripted' }] };
  const chat = upstream.chatModel({ modelName: MODEL, model, key: undefined });
  await using harness = await openHarness({ chat, tools: run.book.tools, config });
  const asked = run.ask ?? QUESTION;
  const { response, events } = await runToEnd(
    harness,
    question({
      research: { conversation: [{ role: 'user', content: [{ type: 'text', text: asked }] }], ...run.request },
    }),
  );
  return { response, events, narrow, told: codesIn(response.output_text) };
}

function configOf(config: ReturnType<typeof testConfig>) {
  const model = config.models[MODEL];
  assert.ok(model?.kind === 'research');
  return model;
}

const research = (narrow: NarrowProvider) => narrow.seen.filter((request) => request.research).length;

function readOrSearch(n: number): TurnScript {
  const goal = {
    toolCalls: [{ name: 'fetch_url_content', arguments: { url: `https://handbook.example/chapter-${n}` } }],
  };
  const search = { toolCalls: [{ name: 'web_search', arguments: { queries: [`access code of chapter ${n}`] } }] };
  return { reasoning: `I look at chapter ${n} of the handbook now.`, ...(n % 7 === 0 ? search : goal) };
}

function readerNotes(text: string): string {
  const codes = codesIn(text);
  return codes.size === 0 ? 'NOTHING' : telling(codes).replaceAll(' [1]', '');
}

function assertTold(told: ReadonlyMap<number, string>, book: Handbook, chapters: readonly number[]) {
  for (const n of chapters) assert.equal(told.get(n), book.code(n), `chapter ${n}; told were ${[...told.keys()]}`);
}

describe('a run of 300 turns in a context of 32 000 tokens', function () {
  this.timeout(120_000);
  const book = handbook({ chapters: 300, length: 5000 });

  it('ends with the facts of its first, middle and last turn, and counts every token', async () => {
    const { response, narrow, told } = await longRun({ book, turns: 300 });
    assert.equal(response.status, 'completed');
    assert.equal(response.incomplete_details, null);
    assertTold(told, book, [1, 2, 149, 150, 151, 299, 300]);
    assert.ok(told.size >= 295, `${told.size} of 300 facts are told`);
    assert.equal(response.usage.num_tool_calls, 300);
    assert.equal(response.usage.input_tokens, narrow.counted.input);
    assert.equal(response.usage.output_tokens, narrow.counted.output);
    assert.equal(response.usage.estimated, undefined);
    assert.ok(narrow.refused <= 3, `${narrow.refused} requests were refused for their length`);
    assert.ok(narrow.largest > CONTEXT * 0.4, `the context is used, up to ${narrow.largest} tokens`);
  });

  it('does so where the provider reports no usage and refuses in other words each time', async () => {
    const { response, narrow, told } = await longRun({ book, turns: 300, provider: { usage: false } });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 2, 149, 150, 151, 299, 300]);
    assert.equal(response.usage.estimated, true);
    assert.ok(narrow.refused <= 6, `${narrow.refused} requests were refused for their length`);
    const ratio = response.usage.input_tokens / narrow.counted.input;
    assert.ok(ratio > 0.6 && ratio < 1.6, `estimated ${ratio} of what was counted`);
  });

  it('does so where the configuration promises four times the context that there is', async () => {
    const { response, narrow, told } = await longRun({
      book,
      turns: 300,
      model: { context_length: CONTEXT * 4 },
      provider: { cutsOutput: true },
    });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 2, 149, 150, 151, 299, 300]);
    assert.equal(response.usage.input_tokens, narrow.counted.input);
    assert.ok(narrow.refused <= 10, `${narrow.refused} requests were refused for their length`);
  });

  it('does so with several pages of 20 000 characters in each turn', async () => {
    const large = handbook({ chapters: 300, length: 20_000 });
    const { response, told } = await longRun({
      book: large,
      turns: 60,
      calls: (n) => ({
        toolCalls: [0, 1, 2, 3, 4].map((i) => ({
          id: `call_${n}_${i}`,
          name: 'fetch_url_content',
          arguments: { url: `https://handbook.example/chapter-${(n - 1) * 5 + i + 1}`, goal: 'the access code' },
        })),
      }),
    });
    assert.equal(response.status, 'completed');
    assert.equal(response.usage.num_tool_calls, 300);
    assertTold(told, large, [1, 2, 149, 150, 151, 299, 300]);
  });

  it('does so with a model that talks much before each call', async () => {
    const talk = (n: number) =>
      Array.from({ length: 40 }, (_, i) => `I weigh what page ${n * 40 + i} may still add to the picture.`).join(' ');
    const { response, told } = await longRun({
      book,
      turns: 300,
      calls: (n) => ({ ...readOrSearch(n), text: talk(n) }),
    });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 150, 300]);
  });

  it('does so in Chinese', async () => {
    const chinese = handbook({ chapters: 300, length: 3000, script: 'cjk' });
    const { response, told } = await longRun({ book: chinese, turns: 300, ask: QUESTION_CJK });
    assert.equal(response.status, 'completed');
    assertTold(told, chinese, [1, 150, 300]);
    assert.ok(told.size >= 200, `${told.size} of 300 facts are told`);
  });
});

describe('a page larger than the whole context', function () {
  this.timeout(60_000);

  for (const [name, script, ask, length] of [
    ['is read in pieces by a model', 'latin', QUESTION, 250_000],
    ['is read in pieces in Chinese too', 'cjk', QUESTION_CJK, 60_000],
  ] as const) {
    it(name, async () => {
      const book = handbook({ chapters: 3, length, script });
      const { response, narrow, told } = await longRun({ book, turns: 3, ask, calls: (n) => fetchChapter(n) });
      assert.equal(response.status, 'completed');
      assertTold(told, book, [1, 2, 3]);
      assert.ok(narrow.seen.filter((request) => request.reading).length > 10);
      assert.equal(response.usage.input_tokens, narrow.counted.input, 'what reading costs is counted');
      assert.equal(response.usage.output_tokens, narrow.counted.output);
      assert.equal(response.usage.num_tool_calls, 3, 'reading is part of one call');
    });
  }
});

function fetchChapter(n: number): TurnScript {
  const args = { url: `https://handbook.example/chapter-${n}`, goal: 'the access code' };
  return { toolCalls: [{ name: 'fetch_url_content', arguments: args }] };
}
