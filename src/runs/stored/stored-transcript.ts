import { z } from 'zod';
import type { RunId } from '../../base/ids.ts';
import { parseJson } from '../../base/json.ts';
import { inSlices, runInTurn } from '../../base/load/event-loop.ts';
import { type TranscriptEntry, transcriptEntry } from '../../research/run/transcript.ts';
import type { RunStore } from '../../store/run-store.ts';
import { emptyTotals } from '../../upstream/usage-totals.ts';
import type { ProxyAnswer } from '../submission.ts';
import { NewerDataError, parseStored } from './stored-data.ts';

/** The kinds of entries that this version knows. */
const KINDS: ReadonlySet<string> = new Set(transcriptEntry.options.map(({ shape }) => shape.t.value));
const kindOf = z.looseObject({ t: z.string() });

/** The stored transcript of a research run. */
export async function readTranscript(store: RunStore, id: RunId): Promise<TranscriptEntry[]> {
  return await parseTranscript(await runInTurn(() => store.readTranscript(id)));
}

/**
 * @throws NewerDataError if an entry is of a kind, or has values, that this version does not know.
 * @throws GatewayError `internal_error` if an entry cannot be read.
 */
export async function parseTranscript(texts: readonly string[]): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  await inSlices(texts, (text) => void entries.push(parseEntry(text)), { stepsPerClockRead: 1 });
  return entries;
}

function parseEntry(text: string): TranscriptEntry {
  const stored = parseJson(text);
  const { t } = parseStored(kindOf, stored, 'transcript entry');
  if (!KINDS.has(t)) throw new NewerDataError(`the transcript holds an entry of a newer gateway: ${t.slice(0, 40)}`);
  return parseStored(transcriptEntry, stored, `transcript entry (${t})`);
}

const count = z.int().nonnegative();
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
