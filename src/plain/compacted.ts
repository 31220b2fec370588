import { noted } from '../research/run/run.ts';
import { toRunError } from '../research/run/run-error.ts';
import type { ResearchState } from '../research/run/state.ts';
import type { Step } from '../research/run/steps.ts';
import { mayRepeat } from '../research/turns.ts';
import { noUsage, TurnError } from '../upstream/turn.ts';
import { compactingTurn, isToCompact } from './compaction.ts';
import type { Compaction, PlainRun } from './request.ts';
import type { Truncation } from './truncation.ts';
import { thread } from './turns.ts';

/**
 * Sums the conversation up where it has become too long: one turn of the same model, and an item that stands for it. One
 * that fails costs what it used, and the conversation is sent as it is.
 */
export async function* compacted(run: PlainRun, truncation: Truncation): AsyncGenerator<Step> {
  const { compaction, state } = run;
  if (!compaction || hasFailed(state) || !isToCompact(thread(run), compaction.at)) return;
  try {
    yield* summedUp(run, compaction, truncation);
  } catch (thrown) {
    if (run.signal.aborted || !(thrown instanceof TurnError)) throw thrown;
    yield spent(run, thrown);
  }
}

/**
 * The response of a request that asks for nothing but the summary.
 * @throws GatewayError where the conversation cannot be summed up.
 */
export async function* summaryAlone(
  run: PlainRun,
  compaction: Compaction,
  truncation: Truncation,
): AsyncGenerator<Step> {
  const { state } = run;
  for (let cuts = 0; !isDone(state); ) {
    try {
      yield* summedUp(run, compaction, truncation);
    } catch (thrown) {
      if (run.signal.aborted || !(thrown instanceof TurnError)) throw thrown;
      yield spent(run, thrown);
      if (!mayRepeat(thrown, ++cuts)) throw toRunError(thrown, { isClients: true });
    }
  }
  const entry = noted(state, { t: 'answered', usage: noUsage(), cut: null });
  yield { type: 'reasoning_end', status: 'completed', entry };
}

async function* summedUp(run: PlainRun, compaction: Compaction, truncation: Truncation): AsyncGenerator<Step> {
  const request = compactingTurn(truncation.fitted(thread(run)), { longest: compaction.longest });
  for await (const part of run.chat.turn(request, { signal: run.signal })) {
    if (part.type !== 'finish') continue;
    const { usage, message } = part;
    const summary = message.content.trim();
    if (summary === '') throw new TurnError('failed', 'the model wrote no summary', { started: true, usage });
    const encrypted = await compaction.seal(summary);
    yield { type: 'compaction', encrypted, entry: noted(run.state, { t: 'compacted', summary, usage }) };
    run.log.info('the conversation was summed up');
  }
}

function spent({ log, state }: PlainRun, { message, usage }: TurnError): Step {
  log.warn({ err: message }, 'the conversation could not be summed up');
  return { type: 'note', entry: noted(state, { t: 'spent', usage, compacting: true }) };
}

/** A response that is taken up again may have its summary. */
function isDone({ entries }: Pick<ResearchState, 'entries'>): boolean {
  return entries.some(({ t }) => t === 'compacted');
}

/** It is not tried again: what failed would fail with every turn. */
function hasFailed({ entries }: Pick<ResearchState, 'entries'>): boolean {
  return entries.some((entry) => entry.t === 'spent' && entry.compacting === true);
}

/** What turns wrote that summed up: no part of the response. */
export function compactingTokens({ entries }: Pick<ResearchState, 'entries'>): number {
  return entries.reduce((sum, entry) => sum + (entry.t === 'compacted' ? entry.usage.outputTokens : 0), 0);
}
