import { isEmptyResult } from '../guards/guards.ts';
import type { ExecutableCall, ResearchState, ResultEntry, TranscriptEntry, TurnEntry } from '../run/transcript.ts';
import { notesIn } from './model-notes.ts';
import { recordsAtOnce } from './result-records.ts';
import type { TurnFindings } from './turn-findings.ts';

/** What research turns found, in the records of the transcript. */

/** A call that was made and gave something. */
export interface Finding {
  call: ExecutableCall;
  result: ResultEntry;
}

/** The calls of these entries that gave something, in the order in which they were asked for. */
export function findingsOf(entries: readonly TranscriptEntry[], state: ResearchState): Finding[] {
  return entries
    .filter((entry) => entry.t === 'turn')
    .flatMap((turn) => turn.calls)
    .flatMap((call) => {
      const result = 'call' in call ? state.results.get(call.call) : undefined;
      if (!('call' in call) || result?.status !== 'completed' || isEmptyResult(result.result)) return [];
      return [{ call, result }];
    });
}

/** What each turn found, in order. Transcripts of older versions hold no records: theirs are taken from the results. */
export function findingsByTurn(state: ResearchState, about: ReadonlySet<string>): TurnFindings[] {
  return state.entries
    .filter((entry) => entry.t === 'turn')
    .map((entry, index): TurnFindings => {
      const turn = index + 1;
      const notes = entry.notes ?? notesIn({ text: entry.message.content, reasoning: '' }, { turn, about });
      return { turn, notes, results: foundResults(entry, { state, about, turn }) };
    });
}

function foundResults(
  entry: TurnEntry,
  { state, about, turn }: { state: ResearchState; about: ReadonlySet<string>; turn: number },
): TurnFindings['results'] {
  return findingsOf([entry], state)
    .map(({ call, result }) => ({ call, records: result.records ?? recordsAtOnce(call, result, { about, turn }) }))
    .filter(({ records }) => records.length > 0);
}
