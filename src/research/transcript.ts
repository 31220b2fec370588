import type { IncompleteReason, Usage } from '../protocol/response.ts';
import { zeroUsage } from '../protocol/response.ts';
import type { AssistantMessage, TurnUsage } from '../upstream/turn.ts';
import type { EarlierSource } from './request.ts';
import { type Source, SourceRegistry } from './sources.ts';

/** What the loop needs to go on after a crash, in entries that are only ever appended. */
export type TranscriptEntry = TurnEntry | ResultEntry | NoteEntry | RestartEntry | ForceEntry | SpentEntry;

/** A finished research turn. */
export interface TurnEntry {
  t: 'turn';
  message: AssistantMessage;
  usage: TurnUsage;
  /** One per tool call of `message`, in order. */
  calls: PlannedCall[];
  /** Whether the model showed any reasoning of its own. */
  thought: boolean;
  /** The gateway's own estimate of the request's tokens, to be held against what the provider counted. */
  estimate: number;
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

/** A message of the gateway to the model: why a guard stepped in, or the request to check the findings. */
export interface NoteEntry {
  t: 'note';
  guard: GuardName;
  text: string;
}

/** What the gateway spoke to the model about. */
export type GuardName = 'repetition' | 'invented_result' | 'refusal' | 'only_thinking' | 'empty_result' | 'verify';

/** A fresh attempt: from here on the model sees these notes instead of the turns before. */
export interface RestartEntry {
  t: 'restart';
  notes: string;
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
      case 'restart':
        break;
    }
  }

  /** Calls of the last turn that have no result yet. */
  pendingCalls(): ExecutableCall[] {
    const turn = this.entries.findLast((entry) => entry.t === 'turn');
    if (!turn) return [];
    return turn.calls.filter((planned) => 'call' in planned).filter((planned) => !this.results.has(planned.call));
  }

  /** Whether the model asked for nothing more, and the gateway did not ask it to go on. */
  researched(): boolean {
    const last = this.entries.findLast((entry) => entry.t === 'turn' || entry.t === 'note' || entry.t === 'restart');
    return last?.t === 'turn' && last.calls.length === 0;
  }

  /** How often a guard spoke to the model in the attempt that runs now. */
  noted(guard: GuardName): number {
    return this.attempt().filter((entry) => entry.t === 'note' && entry.guard === guard).length;
  }

  /** Whether the run has begun anew. It does so once. */
  get restarted(): boolean {
    return this.entries.some((entry) => entry.t === 'restart');
  }

  /** The entries of the attempt that runs now. */
  attempt(): readonly TranscriptEntry[] {
    const restart = this.entries.findLastIndex((entry) => entry.t === 'restart');
    return restart === -1 ? this.entries : this.entries.slice(restart);
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
