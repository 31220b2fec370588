import type { IncompleteReason, Usage } from '../protocol/response.ts';
import { zeroUsage } from '../protocol/response.ts';
import type { AssistantMessage, TurnUsage } from '../upstream/turn.ts';
import type { EarlierSource } from './request.ts';
import { type Source, SourceRegistry } from './sources.ts';

/** What the loop needs to go on after a crash, in entries that are only ever appended. */
export type TranscriptEntry = TurnEntry | ResultEntry | NoteEntry | ForceEntry | SpentEntry;

/** A finished research turn. */
export interface TurnEntry {
  t: 'turn';
  message: AssistantMessage;
  usage: TurnUsage;
  /** One per tool call of `message`, in order. */
  calls: PlannedCall[];
  /** Working time of the run so far, in milliseconds. Time in which no instance worked on it does not count. */
  elapsedMs: number;
}

/** A tool call of a turn: executed as call number `call`, or refused with a reason for the model. */
export type PlannedCall =
  | { id: string; call: number; name: string; arguments: string }
  | { id: string; refused: string };

/** A finished tool call. */
export interface ResultEntry {
  t: 'result';
  call: number;
  status: 'completed' | 'failed';
  /** The text that client and model see. */
  result: string;
  /** Sources that this call met first, or read in full. */
  sources: Source[];
  /** Queries, where the call was a search. */
  queries: number;
}

/** A message of the gateway to the model, such as a guard's. */
export interface NoteEntry {
  t: 'note';
  text: string;
}

/** The research phase ended early; the answer is written from what was found. */
export interface ForceEntry {
  t: 'force';
  reason: IncompleteReason;
  /** Told to the model. */
  why: string;
}

/** Tokens of a turn that left no other trace: a cut or failed one, or the answer's. */
export interface SpentEntry {
  t: 'spent';
  usage: TurnUsage;
}

/** A planned call that is to be executed. */
export type ExecutableCall = Extract<PlannedCall, { call: number }>;

/** The state of a research run: the fold of its transcript. */
export class ResearchState {
  readonly entries: TranscriptEntry[] = [];
  readonly sources = new SourceRegistry();
  readonly results = new Map<number, ResultEntry>();
  /** Finished research turns. */
  turns = 0;
  elapsedMs = 0;
  /** Calls that were given a number, executed or about to be. */
  calls = 0;
  forced: ForceEntry | undefined;
  usage: Usage = zeroUsage();

  /** The state after the given entries, as stored. Sources of an earlier run of the conversation come first. */
  static of(entries: Iterable<TranscriptEntry>, earlier: readonly EarlierSource[] = []): ResearchState {
    const state = new ResearchState();
    state.sources.add(earlier.map((source) => ({ ...source, kind: 'listed' })));
    for (const entry of entries) state.apply(entry);
    return state;
  }

  apply(entry: TranscriptEntry): void {
    this.entries.push(entry);
    switch (entry.t) {
      case 'turn':
        this.turns++;
        this.elapsedMs = entry.elapsedMs;
        this.#spend(entry.usage);
        for (const planned of entry.calls) if ('call' in planned) this.calls = Math.max(this.calls, planned.call + 1);
        break;
      case 'result':
        this.results.set(entry.call, entry);
        this.sources.restore(entry.sources);
        this.usage.num_tool_calls++;
        this.usage.num_search_queries += entry.queries;
        break;
      case 'force':
        this.forced ??= entry;
        break;
      case 'spent':
        this.#spend(entry.usage);
        break;
      case 'note':
        break;
    }
  }

  /** Calls of the last turn that have no result yet. */
  pendingCalls(): ExecutableCall[] {
    const turn = this.entries.findLast((entry) => entry.t === 'turn');
    if (!turn) return [];
    return turn.calls.filter((planned) => 'call' in planned).filter((planned) => !this.results.has(planned.call));
  }

  /** Whether the last research turn asked for nothing more. */
  researched(): boolean {
    const turn = this.entries.findLast((entry) => entry.t === 'turn');
    return turn !== undefined && turn.calls.length === 0;
  }

  #spend(spent: TurnUsage): void {
    const { usage } = this;
    usage.input_tokens += spent.inputTokens;
    usage.input_tokens_details.cached_tokens += spent.cachedTokens;
    usage.output_tokens += spent.outputTokens;
    usage.output_tokens_details.reasoning_tokens += spent.reasoningTokens;
    usage.total_tokens = usage.input_tokens + usage.output_tokens;
    if (spent.estimated) usage.estimated = true;
  }
}
