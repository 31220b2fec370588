import type { IncompleteReason } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { AnsweringRoute, AssistantMessage, TurnTool, TurnUsage } from '../../upstream/turn.ts';
import type { EvidenceRecord } from './evidence.ts';
import type { Source } from './sources.ts';

/** What the loop needs to go on after a crash, in entries that are only ever appended. */
export type TranscriptEntry =
  | TurnEntry
  | ResultEntry
  | NoteEntry
  | RestartEntry
  | CompactionEntry
  | ForceEntry
  | SpentEntry
  | AnsweredEntry
  | WarnedEntry;

/** A finished research turn. */
export interface TurnEntry {
  t: 'turn';
  message: AssistantMessage;
  usage: TurnUsage;
  /** One per tool call of `message`, in order. */
  calls: PlannedCall[];
  /** The model was stopped at its length before it had said or asked for anything whole. */
  cut: boolean;
  /** The model wrote tool results of its own; they were removed from `message`. */
  invented: boolean;
  /** The research ends with this turn, because a limit on tool calls is reached. */
  forced?: Forced;
  /** The gateway's own estimate of the request's tokens, to be held against what the provider counted. */
  estimate: number;
  /** Working time of the run so far, in milliseconds. Time in which no instance worked on it does not count. */
  elapsedMs: number;
  /** What the model noted in its message and its thoughts. Absent in transcripts of older versions. */
  notes?: EvidenceRecord[];
  /** The route that gave the turn: its cache is warm. */
  route?: Pick<AnsweringRoute, 'provider' | 'model' | 'price'>;
  /** Of the first turn: what every request begins with, whatever the configuration becomes. */
  opening?: OpeningEntry;
}

/** The parts of the first request that do not come from the client. */
export interface OpeningEntry {
  system: string;
  tools: TurnTool[];
}

/**
 * A tool call of a turn: executed as call number `call` (`broken`: its arguments could not be read), or refused with a
 * reason for the model. `again`: the number of the same call made before, whose result the model is shown once more.
 */
export type PlannedCall =
  | { id: string; call: number; name: string; arguments: string; broken?: true }
  | { id: string; refused: string; again?: number };

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
  /** What it says about the question. Absent in transcripts of older versions. */
  records?: EvidenceRecord[];
}

/** A message of the gateway to the model: why a guard stepped in, or the request to check the findings. */
export interface NoteEntry {
  t: 'note';
  guard: GuardName;
  text: string;
}

/** What the gateway spoke to the model about. */
export type GuardName =
  | 'repetition'
  | 'invented_result'
  | 'refusal'
  | 'said_nothing'
  | 'cut'
  | 'empty_result'
  | 'verify';

/** A fresh attempt: from here on the model sees these notes instead of the turns before. */
export interface RestartEntry {
  t: 'restart';
  notes: string;
  /** Lines of findings that stand below the notes. Absent in transcripts of older versions, whose notes hold them. */
  findings?: string;
}

/**
 * Room was made in the context: the turns before `from` are sent as findings from here on, and never written in other
 * words again unless a later entry writes all of them `anew`.
 */
export interface CompactionEntry {
  t: 'compaction';
  /** Lines of findings of the turns that were sent whole until now; '' where there was nothing. */
  findings: string;
  /** Takes the place of all findings before, because the window became smaller or is full of them. */
  anew?: true;
  /** The first turn that is still sent as such, counted from 0 over the whole run. */
  from: number;
  /** Results of the turns from there on that are sent shortened, by the number of their call. */
  shortened: Record<number, string>;
  /** The tokens into which the opening is fitted. */
  room: number;
}

/** Why the research phase ended early; the answer is written from what was found. */
export interface Forced {
  reason: IncompleteReason;
  /** Told to the model. */
  why: string;
}

export interface ForceEntry extends Forced {
  t: 'force';
}

/** Tokens of a turn that left no other trace: a cut or failed one, or a part of the answer. */
export interface SpentEntry {
  t: 'spent';
  usage: TurnUsage;
  /** The estimated size of the request, where the provider refused it for its length. */
  tooLarge?: number;
  /** The most that the model might have written there, in tokens. */
  asked?: number;
  /** The length of the answer that is paid for, in UTF-16 code units, where it was a turn of the answer. */
  answerLength?: number;
  /** The tokens of the answer that came with it. */
  answerTokens?: number;
}

/** The answer is written: what follows needs no model. */
export interface AnsweredEntry {
  t: 'answered';
  usage: TurnUsage;
  /** Why it ends before its end. */
  cut: IncompleteReason | null;
}

/** What the client is to be told of when the run ends. */
export interface WarnedEntry {
  t: 'warned';
  warnings: Warning[];
}

/** A planned call that is to be executed. */
export type ExecutableCall = Extract<PlannedCall, { call: number }>;
