import type { IncompleteReason } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { AnsweringRoute, AssistantMessage, TurnTool, TurnToolCall, TurnUsage } from '../../upstream/turn.ts';
import type { EvidenceRecord } from './evidence.ts';
import type { Source } from './sources.ts';

/** What the loop needs to go on after a crash, in entries that are only ever appended. */
export type TranscriptEntry = AnyEntry & {
  /** The lane that it belongs to, counted from 1; absent where it is of the run itself. */
  lane?: number | undefined;
};

type AnyEntry =
  | TurnEntry
  | ResultEntry
  | NoteEntry
  | ReminderEntry
  | RestartEntry
  | LanesEntry
  | JoinedEntry
  | CompactionEntry
  | CompactedEntry
  | ForceEntry
  | SpentEntry
  | OutlineEntry
  | DraftEntry
  | CheckedEntry
  | SectionEntry
  | AnsweredEntry
  | ApprovedEntry
  | WarnedEntry;

/** A finished research turn. */
export interface TurnEntry {
  t: 'turn';
  message: AssistantMessage;
  usage: TurnUsage;
  /** One per tool call of `message`, in order. */
  calls: PlannedCall[];
  /** Functions of the client's own that were called beside them: they end the response once the others are made. */
  functions?: TurnToolCall[];
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
  /** Of a lane: what it thought and said, as it is shown once its calls have ended. */
  thought?: string;
}

/** The parts of the first request that do not come from the client. */
export interface OpeningEntry {
  system: string;
  tools: TurnTool[];
}

/**
 * A tool call of a turn: executed as call number `call` (`broken`: its arguments could not be read), or refused with a
 * reason for the model. `again`: the number of the same call made before, whose result the model is shown once more.
 * `client`: a function of the client's own; its result comes with the request that goes on. `asks`: the client approves it
 * first.
 */
export type PlannedCall =
  | { id: string; call: number; name: string; arguments: string; broken?: true; client?: true; asks?: true }
  | { id: string; refused: string; again?: number };

/** Calls of an earlier response that the client has approved: this one makes them before the model is asked. */
export interface ApprovedEntry {
  t: 'approved';
  calls: ApprovedCall[];
}

/** A call, and the id of the request that it was approved by. */
export interface ApprovedCall {
  call: number;
  request: string;
  /** The tool. Absent in transcripts of older versions. */
  name?: string | undefined;
}

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
  /** Images of a function's output, by their addresses: shown behind it. */
  images?: string[] | undefined;
}

/** A message of the gateway to the model: why a guard stepped in, or the request to check the findings. */
export interface NoteEntry {
  t: 'note';
  guard: GuardName;
  text: string;
  /** Of the user: images that come with it, by their addresses. */
  images?: string[] | undefined;
}

/** What the model was told of its plan before the answer: the items that are open, or that there is none. Once in a run. */
export interface ReminderEntry {
  t: 'reminder';
  text: string;
}

/** What the gateway spoke to the model about; `user`: what the user said on the way. */
export type GuardName =
  | 'repetition'
  | 'invented_result'
  | 'refusal'
  | 'said_nothing'
  | 'cut'
  | 'empty_result'
  | 'verify'
  | 'user';

/** A fresh attempt: from here on the model sees these notes instead of the turns before. */
export interface RestartEntry {
  t: 'restart';
  notes: string;
  /** Lines of findings that stand below the notes. Absent in transcripts of older versions, whose notes hold them. */
  findings?: string;
}

/** The research goes on in lanes, each in a context of its own. Once in a run. */
export interface LanesEntry {
  t: 'lanes';
  /** `parts`: each has other items of the plan. `attempts`: each has the whole question. */
  kind: 'parts' | 'attempts';
  /** What each of them is to find out, by lane; of attempts how each begins. */
  tasks: string[][];
}

/** The lanes have ended: what they found is sent as findings from here on. */
export interface JoinedEntry {
  t: 'joined';
  /** Lines of findings of all turns that were sent whole until now. */
  findings: string;
  /** The first turn that is sent as such, counted from 0 over the whole run. */
  from: number;
  /** What the model reads about the lanes. */
  text: string;
  /** Lanes that did what they were to do. */
  done: number[];
  /** The limit that ended the first lane that one ended. */
  cut?: IncompleteReason;
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

/** The conversation of a plain model up to here was summed up. */
export interface CompactedEntry {
  t: 'compacted';
  summary: string;
  /** Of the turn that summed it up. */
  usage: TurnUsage;
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
  /** It was to sum the conversation of a plain model up, and failed. */
  compacting?: true;
  /** The length of the answer that is paid for, in UTF-16 code units, where it was a turn of the answer. */
  answerLength?: number;
  /** The tokens of the answer that came with it. */
  answerTokens?: number;
}

/** What a report is to say, section by section. Once in a run; empty where the answer is written in one turn. */
export interface OutlineEntry {
  t: 'outline';
  sections: OutlineSection[];
  usage: TurnUsage;
  /** The gateway's own estimate of the request's tokens. */
  estimate: number;
}

/** A section as it is planned. */
export interface OutlineSection {
  heading: string;
  /** What it is to tell, in the words of the model. */
  aim: string;
  /** Numbers of the records that it is written from, counted from 1 in the order of the transcript. */
  records: number[];
}

/** A part of a text that is held back until it is checked. */
export interface DraftEntry {
  t: 'draft';
  text: string;
  /** It is the last part. */
  whole: boolean;
  /** Why it ends before its end. */
  cut?: IncompleteReason;
  usage: TurnUsage;
}

/** The text that was held back, as it will be shown. */
export interface CheckedEntry {
  t: 'checked';
  text: string;
  /** Passages that the model named for claims of it. */
  accepted: AcceptedPassage[];
  usage: TurnUsage;
}

/** Words of a source that carry a claim, by what the model says of them. */
export interface AcceptedPassage {
  claim: string;
  source: number;
  text: string;
}

/** A section of a report is shown whole. */
export interface SectionEntry {
  t: 'section';
  /** The length of the answer with it, in UTF-16 code units. */
  length: number;
  tokens: number;
  /** Of its last part, where that is not told yet. */
  usage: TurnUsage;
  /** Why it ends before its end. */
  cut: IncompleteReason | null;
}

/** The answer is written: what follows needs no model. */
export interface AnsweredEntry {
  t: 'answered';
  usage: TurnUsage;
  /** Why it ends before its end. */
  cut: IncompleteReason | null;
  /** Of a plain model: what it said and called, as its provider wants it back. */
  message?: AssistantMessage;
}

/** Warnings for the end of the run. */
export interface WarnedEntry {
  t: 'warned';
  warnings: Warning[];
}

export type ExecutableCall = Extract<PlannedCall, { call: number }>;
