import assert from 'node:assert/strict';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { ResearchRequest } from '../../src/research/run/request.ts';
import { createUpstream } from '../../src/upstream/upstream.ts';
import { codesIn, type Handbook, telling } from './handbook.ts';
import { type NarrowProvider, type NarrowProviderOptions, startNarrowProvider } from './narrow-provider.ts';
import { MODEL, openHarness, question, runToEnd, testConfig } from './run-harness.ts';
import type { TurnScript } from './scripted-provider.ts';

/** Long runs over real HTTP against a provider that enforces its context window. */

export const CONTEXT = 32_000;
export const QUESTION = 'Which access code does each chapter of the handbook have?';

export interface LongRun {
  /** The context that the provider enforces and the configuration names, in tokens. */
  context?: number;
  book: Handbook;
  turns: number;
  /** What a million tokens cost on the route. */
  price?: { input: number; cached_input?: number; output: number };
  ask?: string;
  provider?: Partial<NarrowProviderOptions>;
  model?: object;
  request?: Partial<ResearchRequest>;
  /** The calls of research turn n. By default each reads a chapter, every seventh searches for it. */
  calls?: (n: number) => TurnScript;
  /** The answer, by all that the model is sent. By default it tells the codes in it. */
  answer?: (text: string) => string;
}

/** Runs a model over real HTTP that reads a chapter in each turn, and answers with the codes in its context. */
export async function longRun(run: LongRun) {
  await using narrow = await startNarrowProvider({
    contextTokens: run.context ?? CONTEXT,
    ...run.provider,
    model: (request) => {
      if (request.reading) return { text: readerNotes(request.text) };
      if (!request.research) return { text: (run.answer ?? ((text) => telling(codesIn(text))))(request.text) };
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
    model: {
      context_length: run.context ?? CONTEXT,
      max_completion_tokens: 8000,
      ...(run.price && { routes: [{ provider: 'demo', model: 'demo', price: run.price }] }),
      ...run.model,
    },
    research: { budgets: { medium: { turns: run.turns + 5, tool_calls: 1000, tokens: 100_000_000, minutes: 30 } } },
  });
  const parsed = configSchema.shape.providers.parse(providers);
  await using upstream = createUpstream(parsed, { log: silentLogger });
  const model = {
    ...configOf(config),
    routes: [{ provider: 'narrow', model: 'scripted', ...(run.price && { price: run.price }) }],
  };
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

/** Research turn n: reads a chapter, or in every seventh turn searches for it. */
export function readOrSearch(n: number): TurnScript {
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
