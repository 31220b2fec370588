import { isEmptyResult } from '../guards/guards.ts';
import type { EvidenceRecord } from '../run/evidence.ts';
import type { ResearchState } from '../run/state.ts';
import type { ExecutableCall, ResultEntry, TranscriptEntry } from '../run/transcript.ts';
import { notesIn } from './model-notes.ts';
import { recordsOf } from './result-records.ts';

/** A result with evidence, and its records. */
export interface FoundResult {
  call: ExecutableCall;
  records: readonly EvidenceRecord[];
}

export interface TurnFindings {
  /** Counted from 1. */
  turn: number;
  notes: readonly EvidenceRecord[];
  results: readonly FoundResult[];
}

/** A call that succeeded and found something. */
interface Finding {
  call: ExecutableCall;
  result: ResultEntry;
}

/** The calls of these entries that found something, in the order of the requests. */
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

/** What each turn found, in order. Transcripts of older versions have no records, so these are made from the results. */
export async function findingsByTurn(state: ResearchState, about: ReadonlySet<string>): Promise<TurnFindings[]> {
  const turns: TurnFindings[] = [];
  for (const entry of state.entries) {
    if (entry.t !== 'turn') continue;
    const turn = turns.length + 1;
    const notes = entry.notes ?? notesIn({ text: entry.message.content, reasoning: '' }, { turn, about });
    const results: FoundResult[] = [];
    for (const { call, result } of findingsOf([entry], state)) {
      const records = result.records ?? (await recordsOf(call, result, { about, turn }));
      if (records.length > 0) results.push({ call, records });
    }
    turns.push({ turn, notes, results });
  }
  return turns;
}
