import { applyEntry } from '../research/run/run.ts';
import { toRunError } from '../research/run/run-error.ts';
import type { ResearchState } from '../research/run/state.ts';
import type { Step } from '../research/run/steps.ts';
import type { TranscriptEntry } from '../research/run/transcript.ts';
import { mayRepeat } from '../research/turns.ts';
import { noUsage, TurnError } from '../upstream/turn.ts';
import { needsCompaction, summaryRequest, writeSummary } from './compaction.ts';
import type { Compaction, PlainRun } from './request.ts';
import type { Truncation } from './truncation.ts';
import { thread } from './turns.ts';

/**
 * Summarises the conversation if it has become too long, with one turn of the same model, into an item that stands for it.
 * If the turn fails, its tokens are charged, and the conversation is sent as it is.
 */
export async function* compactIfNeeded(run: PlainRun, truncation: Truncation): AsyncGenerator<Step> {
  const { compaction, state } = run;
  if (!compaction || hasFailed(state) || !needsCompaction(thread(run), compaction.threshold)) return;
  try {
    yield* summarize(run, compaction, truncation);
  } catch (thrown) {
    if (run.signal.aborted || !(thrown instanceof TurnError)) throw thrown;
    yield failedSummary(run, thrown);
  }
}

/**
 * The response to a request for nothing but the summary.
 * @throws GatewayError if the conversation cannot be summarised.
 */
export async function* summaryOnly(
  run: PlainRun,
  compaction: Compaction,
  truncation: Truncation,
): AsyncGenerator<Step> {
  const { state } = run;
  for (let cuts = 0; !isDone(state); ) {
    try {
      yield* summarize(run, compaction, truncation);
    } catch (thrown) {
      if (run.signal.aborted || !(thrown instanceof TurnError)) throw thrown;
      yield failedSummary(run, thrown);
      if (!mayRepeat(thrown, ++cuts)) throw toRunError(thrown, { isClients: true });
    }
  }
  const entry = applyEntry(state, { t: 'answered', usage: noUsage(), cut: null });
  yield { type: 'reasoning_end', status: 'completed', entry };
}

async function* summarize(run: PlainRun, compaction: Compaction, truncation: Truncation): AsyncGenerator<Step> {
  const request = summaryRequest(truncation.fit(thread(run)), { maxTokens: compaction.maxTokens });
  const { summary, usage } = await writeSummary(run.chat, request, run);
  const encrypted = await compaction.seal(summary);
  yield { type: 'compaction', encrypted, entry: applyEntry(run.state, { t: 'compacted', summary, usage }) };
  run.log.info('the conversation was summarised');
}

function failedSummary({ log, state }: PlainRun, { message, usage }: TurnError): Step {
  log.warn({ err: message }, 'the conversation could not be summarised');
  return { type: 'note', entry: applyEntry(state, { t: 'spent', usage, compacting: true }) };
}

/** Whether the summary is written; a resumed response may have it already. */
function isDone({ entries }: Pick<ResearchState, 'entries'>): boolean {
  return entries.some(({ t }) => t === 'compacted');
}

/** Whether a summary has failed. It is not tried again, as it would fail before every turn. */
function hasFailed({ entries }: Pick<ResearchState, 'entries'>): boolean {
  return entries.some((entry) => entry.t === 'spent' && entry.compacting === true);
}

/** The output tokens of summaries, failed ones too, which do not count towards the limit of the response. */
export function summaryTokens({ entries }: Pick<ResearchState, 'entries'>): number {
  return entries.reduce((sum, entry) => sum + (isOfSummary(entry) ? entry.usage.outputTokens : 0), 0);
}

function isOfSummary(entry: TranscriptEntry): entry is Extract<TranscriptEntry, { t: 'compacted' | 'spent' }> {
  return entry.t === 'compacted' || (entry.t === 'spent' && entry.compacting === true);
}
