import { z } from 'zod';
import type { RunId } from '../../base/ids.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import { inSlices, runInTurn } from '../../base/load/event-loop.ts';
import { incompleteReason } from '../../protocol/response.ts';
import { warning } from '../../protocol/warnings.ts';
import type { TranscriptEntry } from '../../research/run/transcript.ts';
import type { RunStore } from '../../store/run-store.ts';
import { emptyTotals } from '../../upstream/usage-totals.ts';
import type { ProxyAnswer } from '../submission.ts';
import { NewerDataError, parseStored } from './stored-data.ts';

/**
 * Transcript entries as they are stored. Fields added after the first version have a default or are optional; fields that
 * this version does not know are preserved.
 */

const count = z.int().nonnegative();
const usage = z.looseObject({
  inputTokens: count,
  cachedTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  estimated: z.boolean(),
  cost: z.number().nonnegative().optional(),
  unpriced: z.literal(true).optional(),
});

const toolCall = z.looseObject({ id: z.string(), name: z.string(), arguments: z.string() });
/** A model's message in a turn. */
export const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: z.string(),
  tool_calls: z.array(toolCall).optional(),
  replay: z.looseObject({ provider: z.string(), fields: z.custom<JsonObject>(isObject) }).optional(),
});

const plannedCall = z.union([
  z.looseObject({
    id: z.string(),
    call: count,
    name: z.string(),
    arguments: z.string(),
    broken: z.literal(true).optional(),
    client: z.literal(true).optional(),
    asks: z.literal(true).optional(),
  }),
  z.looseObject({ id: z.string(), refused: z.string(), again: count.optional() }),
]);

export const approvedCall = z.looseObject({ call: count, request: z.string(), name: z.string().optional() });

const forced = { reason: incompleteReason, why: z.string() };

const source = z.looseObject({
  id: z.int().positive(),
  url: z.string(),
  title: z.string(),
  snippet: z.string(),
  published: z.string().optional(),
  kind: z.enum(['listed', 'read']),
  movedTo: z.string().optional(),
  unreadable: z.literal(true).optional(),
});

const records = z.array(
  z.looseObject({
    turn: count,
    by: z.enum(['tool', 'reader', 'model']),
    source: count.nullable(),
    quote: z.string(),
    at: count.nullable(),
    note: z.string(),
    weight: z.number(),
  }),
);
const route = z.looseObject({
  provider: z.string(),
  model: z.string(),
  price: z
    .looseObject({
      input: z.number().nonnegative(),
      cached_input: z.number().nonnegative().optional(),
      output: z.number().nonnegative(),
    })
    .optional(),
});
const tool = z.looseObject({
  name: z.string(),
  description: z.string(),
  parameters: z.custom<JsonObject>(isObject),
});

/** The schema of one kind of entry; `lane` is set in entries of a lane. */
function entry<T extends string, Shape extends z.ZodRawShape>(t: T, shape: Shape) {
  return z.looseObject({ t: z.literal(t), lane: z.int().positive().optional(), ...shape });
}

const entries = z.discriminatedUnion('t', [
  entry('turn', {
    message: assistantMessage,
    usage,
    calls: z.array(plannedCall),
    functions: z.array(toolCall).optional(),
    cut: z.boolean().default(false),
    invented: z.boolean().default(false),
    forced: z.looseObject(forced).optional(),
    estimate: z.number().nonnegative().default(0),
    elapsedMs: z.number().nonnegative(),
    notes: records.optional(),
    route: route.optional(),
    opening: z.looseObject({ system: z.string(), tools: z.array(tool) }).optional(),
    thought: z.string().optional(),
  }),
  entry('result', {
    call: count,
    status: z.enum(['completed', 'failed']),
    result: z.string(),
    sources: z.array(source),
    queries: count.default(0),
    records: records.optional(),
    images: z.array(z.string()).optional(),
  }),
  entry('note', {
    guard: z.enum([
      'repetition',
      'invented_result',
      'refusal',
      'said_nothing',
      'cut',
      'empty_result',
      'verify',
      'user',
    ]),
    text: z.string(),
    images: z.array(z.string()).optional(),
  }),
  entry('reminder', { text: z.string() }),
  entry('restart', { notes: z.string(), findings: z.string().optional() }),
  entry('lanes', {
    kind: z.enum(['parts', 'attempts']),
    tasks: z.array(z.array(z.string())),
  }),
  entry('joined', {
    findings: z.string(),
    from: count,
    text: z.string(),
    done: z.array(count),
    cut: incompleteReason.optional(),
  }),
  entry('compaction', {
    findings: z.string(),
    anew: z.literal(true).optional(),
    from: count,
    shortened: z.record(z.string(), z.string()),
    room: z.number(),
  }),
  entry('compacted', { summary: z.string(), usage }),
  entry('force', forced),
  entry('spent', {
    usage,
    tooLarge: count.optional(),
    compacting: z.literal(true).optional(),
    asked: count.optional(),
    answerLength: count.optional(),
    answerTokens: count.optional(),
  }),
  entry('outline', {
    sections: z.array(z.looseObject({ heading: z.string(), aim: z.string(), records: z.array(z.int().positive()) })),
    usage,
    estimate: z.number().nonnegative(),
  }),
  entry('draft', {
    text: z.string(),
    whole: z.boolean(),
    cut: incompleteReason.optional(),
    usage,
  }),
  entry('checked', {
    text: z.string(),
    accepted: z.array(z.looseObject({ claim: z.string(), source: z.int().positive(), text: z.string() })),
    usage,
  }),
  entry('section', {
    length: count,
    tokens: count,
    usage,
    cut: incompleteReason.nullable(),
  }),
  entry('answered', {
    usage,
    cut: incompleteReason.nullable(),
    message: assistantMessage.optional(),
  }),
  entry('approved', { calls: z.array(approvedCall) }),
  entry('warned', { warnings: z.array(warning) }),
]);

/** The schema of any entry. */
export const transcriptEntry: z.ZodType<TranscriptEntry> = entries;
/** The kinds of entries that this version knows. */
const KINDS: ReadonlySet<string> = new Set(entries.options.map(({ shape }) => shape.t.value));
const kindOf = z.looseObject({ t: z.string() });

/** The stored transcript of a research run. */
export async function readTranscript(store: RunStore, id: RunId): Promise<TranscriptEntry[]> {
  return await parseTranscript(await runInTurn(() => store.readTranscript(id)));
}

/**
 * @throws NewerDataError if an entry is of a kind that this version does not know.
 * @throws GatewayError `internal_error` if an entry cannot be read.
 */
export async function parseTranscript(texts: readonly string[]): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  await inSlices(texts, (text) => void entries.push(parseEntry(text)), { stepsPerClockRead: 1 });
  return entries;
}

function parseEntry(text: string): TranscriptEntry {
  const { t } = parseStored(kindOf, text, 'transcript entry');
  if (!KINDS.has(t)) throw new NewerDataError(`the transcript holds an entry of a newer gateway: ${t.slice(0, 40)}`);
  return parseStored(transcriptEntry, text, `transcript entry (${t})`);
}

const proxyResult = z.looseObject({
  t: z.literal('proxy_result'),
  body: z.string(),
  // Absent or null in transcripts of older versions if the provider had not reported it.
  tokens: count.nullish().transform((tokens) => tokens ?? 0),
  cost: z
    .number()
    .nonnegative()
    .nullish()
    .transform((cost) => cost ?? 0),
  // Absent in transcripts of earlier versions, which stored only the total of tokens.
  used: z
    .object({ inputTokens: count, cachedTokens: count, outputTokens: count, reasoningTokens: count, cost: z.number() })
    .optional(),
});

/** Parses the provider's answer to a proxy task from its transcript entry. */
export function parseProxyResult(text: string): ProxyAnswer {
  const { body, tokens, cost, used } = parseStored(proxyResult, text, 'answer of a provider');
  return { body, used: used ?? { ...emptyTotals(), inputTokens: tokens, cost } };
}
