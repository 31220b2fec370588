import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema, type GatewayConfig } from '../../src/config/schema.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { saveDocuments, writeDocuments } from './documents.ts';
import { type RunCost, startMeter } from './meter.ts';
import { askQuestions } from './questions.ts';
import { startResearcher } from './researcher-server.ts';
import { type Score, score } from './scores.ts';
import { makeWorld } from './world.ts';

/** A provider to evaluate with; absent: the scripted researcher. */
export interface EvaluatedProvider {
  baseUrl: string;
  apiKey?: string;
  model: string;
}

export interface EvaluationOptions {
  seed: number;
  questions: number;
  effort: 'low' | 'medium' | 'high';
  /** Questions asked at a time. */
  parallel: number;
  /** The window of the model, in tokens; absent: the configuration's default. */
  contextLength?: number;
  provider?: EvaluatedProvider;
  onScore?(score: Score): void;
  /** Told what each run sent, where that is to be metered. */
  onCost?(run: { question: string; cost: RunCost; outputTokens: number }): void;
}

export interface Evaluation {
  documents: number;
  scores: Score[];
}

const KEY = 'sk-evaluation';
const MODEL = 'evaluated';
const INSTRUCTIONS =
  'Everything is found in the document collection that web_search searches; it is about an invented world. ' +
  'Read the documents that your answer rests on and cite them. End with one line: Answer: <the answer alone>';

/**
 * Asks a gateway of its own, with the real search and the real reader over a generated corpus, and scores what comes.
 * The corpus lies in a temporary folder that is removed in the end.
 */
export async function evaluate(options: EvaluationOptions): Promise<Evaluation> {
  await using stack = new AsyncDisposableStack();
  const world = makeWorld(options.seed);
  const documents = writeDocuments(world, options.seed);
  const folder = await mkdtemp(join(tmpdir(), 'gateway-eval-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await saveDocuments(folder, documents);
  const provider = options.provider ?? { baseUrl: stack.use(await startResearcher()).url, model: 'researcher' };
  const meter = options.onCost ? stack.use(await startMeter(provider.baseUrl)) : undefined;
  const asked = meter ? { ...provider, baseUrl: meter.url } : provider;
  const gateway = stack.use(
    await startGateway({
      config: gatewayConfig(asked, { folder, contextLength: options.contextLength }),
      log: silentLogger,
    }),
  );

  const urlOf = new Map(documents.map(({ about, path }) => [about, `corpus:///${path}`]));
  const questions = askQuestions(world, { seed: options.seed, count: options.questions });
  const scores = new Map<number, Score>();
  const next = questions.entries();
  const worker = async () => {
    for (const [index, question] of next) {
      const began = performance.now();
      const response = await askGateway(gateway.url, { text: question.text, effort: options.effort });
      const urls = new Set(question.needed.map((title) => urlOf.get(title) ?? title));
      const scored = score(question, { response, urls, seconds: (performance.now() - began) / 1000 });
      scores.set(index, scored);
      options.onScore?.(scored);
      const cost = meter?.costOf(response.id);
      if (cost) options.onCost?.({ question: question.text, cost, outputTokens: response.usage.output_tokens });
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
  return {
    documents: documents.length,
    scores: questions
      .keys()
      .map((index) => scores.get(index))
      .filter((each) => each !== undefined)
      .toArray(),
  };
}

/** A gateway over a folder of documents, or over a SearXNG at an address of this machine and the pages that it finds. */
export function gatewayConfig(
  { baseUrl, apiKey, model }: EvaluatedProvider,
  about: { folder: string; searxng?: string | undefined; contextLength?: number | undefined },
): GatewayConfig {
  const { folder, searxng, contextLength } = about;
  return configSchema.parse({
    server: { port: 0 },
    store: { url: 'memory:' },
    providers: { evaluated: { base_url: baseUrl, ...(apiKey === undefined ? {} : { api_key: apiKey }) } },
    models: {
      [MODEL]: {
        kind: 'research',
        ...(contextLength === undefined ? {} : { context_length: contextLength }),
        routes: [{ provider: 'evaluated', model }],
        research: { tools: ['web_search', 'fetch_url_content'] },
      },
    },
    keys: [{ id: 'evaluation', secret: KEY }],
    tools:
      searxng === undefined
        ? { web_search: { provider: 'local', folder } }
        : {
            web_search: { provider: 'searxng', url: searxng },
            fetch_url_content: { allow_private_addresses: true },
          },
  });
}

/** Asks the gateway of an evaluation and waits for the whole response. */
export async function askGateway(
  gateway: string,
  { text, effort, research }: { text: string; effort: EvaluationOptions['effort']; research?: object },
): Promise<ResponseObject> {
  const answer = await fetch(`${gateway}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      input: text,
      instructions: INSTRUCTIONS,
      reasoning: { effort },
      research,
      stream: false,
    }),
  });
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}: ${await answer.text()}`);
  return JSON.parse(await answer.text());
}
