import type { IncompleteReason } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { AnsweringRoute, AssistantMessage, TurnTool, TurnToolCall, TurnUsage } from '../../upstream/turn.ts';
import type { EvidenceRecord } from './evidence.ts';
import type { Source } from './sources.ts';

/** What the loop needs to continue after a crash, as entries that are only ever appended. */
export type TranscriptEntry = AnyEntry & {
  /** The lane that it belongs to, counted from 1; absent for the run itself. */
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
  /** Calls of the client's own functions: they end the response once the other calls are made. */
  functions?: TurnToolCall[];
  /** The model reached its output limit before it had said or requested anything complete. */
  cut: boolean;
  /** The model wrote tool results of its own; they were removed from `message`. */
  invented: boolean;
  /** The research ends with this turn, because a limit on tool calls is reached. */
  forced?: ForcedEnd;
  /** The gateway's own estimate of the request's tokens, to compare with what the provider counted. */
  estimate: number;
  /** Working time of the run so far, in milliseconds. Time during which no instance worked on the run does not count. */
  elapsedMs: number;
  /** What the model noted in its message and its thoughts. Absent in transcripts of older versions. */
  notes?: EvidenceRecord[];
  /** The route that served the turn: its prompt cache is warm. */
  route?: Pick<AnsweringRoute, 'provider' | 'model' | 'price'>;
  /** In the first turn: how every request of the run begins, even if the configuration changes. */
  opening?: OpeningEntry;
  /** In a lane: its reasoning, which is sent once its calls have ended. */
  thought?: string;
}

/** The parts of the first request that do not come from the client. */
export interface OpeningEntry {
  system: string;
  tools: TurnTool[];
}

/**
 * A tool call of a turn: executed as call number `call` (`broken`: its arguments could not be parsed), or refused with a
 * reason for the model. `again`: the number of an earlier, identical call, whose result the model gets once more.
 * `client`: a function of the client's own; its result comes with the request that continues the research. `asks`: the
 * client has to approve the call first.
 */
export type PlannedCall =
  | { id: string; call: number; name: string; arguments: string; broken?: true; client?: true; asks?: true }
  | { id: string; refused: string; again?: number };

/** Calls of an earlier response that the client has approved: this response makes them before the first turn. */
export interface ApprovedEntry {
  t: 'approved';
  calls: ApprovedCall[];
}

/** A call, and the id of the approval request for it. */
export interface ApprovedCall {
  call: number;
  request: string;
  /** The tool. Absent in transcripts of older versions. */
  name?: string | undefined;
}

export interface ResultEntry {
  t: 'result';
  call: number;
  status: 'completed' | 'failed';
  /** The text that client and model see. */
  result: string;
  /** Sources that this call saw first, or read in full. */
  sources: Source[];
  /** The number of search queries; 0 if the call was no search. */
  queries: number;
  /** The evidence in the result. Absent in transcripts of older versions. */
  records?: EvidenceRecord[];
  /** The URLs of images in a function's output, which the model gets after the text. */
  images?: string[] | undefined;
}

/** A message of the gateway to the model: why a guard stepped in, or the request to check the findings. */
export interface NoteEntry {
  t: 'note';
  guard: GuardName;
  text: string;
  /** In a message of the user: the URLs of its images. */
  images?: string[] | undefined;
}

/** The reminder of the plan before the answer: its open items, or that there is no plan. At most once in a run. */
export interface ReminderEntry {
  t: 'reminder';
  text: string;
}

/** Why the gateway sent the model a note; `user`: it passes on a message of the user. */
export type GuardName =
  | 'repetition'
  | 'invented_result'
  | 'refusal'
  | 'said_nothing'
  | 'cut'
  | 'empty_result'
  | 'verify'
  | 'user';

/** A fresh attempt: from here on the model sees these notes instead of the earlier turns. */
export interface RestartEntry {
  t: 'restart';
  notes: string;
  /** Lines of findings that follow the notes. Absent in transcripts of older versions, whose notes include them. */
  findings?: string;
}

/** The research splits into lanes, each with a context of its own. At most once in a run. */
export interface LanesEntry {
  t: 'lanes';
  /** `parts`: each lane has its own items of the plan. `attempts`: each lane has the whole question. */
  kind: 'parts' | 'attempts';
  /** The plan items of each lane; for attempts, how each of them starts. */
  tasks: string[][];
}

/** The lanes have ended. From here on the model gets what they found as findings. */
export interface JoinedEntry {
  t: 'joined';
  /** Lines of findings that replace all turns so far. */
  findings: string;
  /** The first turn that is sent in full, counted from 0 over the whole run. */
  from: number;
  /** What the model is told about the lanes. */
  text: string;
  /** Lanes that finished their task. */
  done: number[];
  /** The limit that stopped the first unfinished lane. */
  cut?: IncompleteReason;
}

/**
 * The context was compacted: from here on the turns before `from` are sent as findings. These are never reworded,
 * unless a later entry rewrites all of them (`anew`).
 */
export interface CompactionEntry {
  t: 'compaction';
  /** Lines of findings of the turns that are newly replaced; '' if they found nothing. */
  findings: string;
  /** Replaces all earlier findings, because the window became smaller or they fill it. */
  anew?: true;
  /** The first turn that is still sent in full, counted from 0 over the whole run. */
  from: number;
  /** Shortened results in the turns from `from` on, by call number. */
  shortened: Record<number, string>;
  /** The tokens that the opening has to fit into. */
  room: number;
}

/** The conversation of a plain model up to here was summarised. */
export interface CompactedEntry {
  t: 'compacted';
  summary: string;
  /** Usage of the turn that wrote the summary. */
  usage: TurnUsage;
}

/** Why the research phase ended early; the answer is written from what was found. */
export interface ForcedEnd {
  reason: IncompleteReason;
  /** The explanation that the model gets. */
  why: string;
}

export interface ForceEntry extends ForcedEnd {
  t: 'force';
}

/** Tokens of a turn that has no entry of its own: a cut or failed turn, or one that wrote a part of the answer. */
export interface SpentEntry {
  t: 'spent';
  usage: TurnUsage;
  /** The estimated size of the request, if the provider refused it as too long. */
  tooLarge?: number;
  /** The output limit of that request, in tokens. */
  asked?: number;
  /** The turn should have summarised the conversation of a plain model, and failed. */
  compacting?: true;
  /** For a turn of the answer: the length of the answer that is charged so far, in UTF-16 code units. */
  answerLength?: number;
  /** The tokens of the answer that this turn wrote. */
  answerTokens?: number;
}

/** The planned sections of a report. At most once in a run; empty if the answer is written in one turn. */
export interface OutlineEntry {
  t: 'outline';
  sections: OutlineSection[];
  usage: TurnUsage;
  /** The gateway's own estimate of the request's tokens. */
  estimate: number;
}

export interface OutlineSection {
  heading: string;
  /** What it should cover, in the model's words. */
  aim: string;
  /** The records that it is written from, counted from 1 in the order of the transcript. */
  records: number[];
}

/** A part of a text that is buffered until it is checked. */
export interface DraftEntry {
  t: 'draft';
  text: string;
  /** Whether the text is complete with this part. */
  whole: boolean;
  /** Why the text was cut short, if it was. */
  cut?: IncompleteReason;
  usage: TurnUsage;
}

/** The buffered text after the check, as it will be sent. */
export interface CheckedEntry {
  t: 'checked';
  text: string;
  /** Passages that the model named as support for its claims. */
  accepted: AcceptedPassage[];
  usage: TurnUsage;
}

/** Words of a source that support a claim according to the model. */
export interface AcceptedPassage {
  claim: string;
  source: number;
  text: string;
}

/** A section of a report is completely sent. */
export interface SectionEntry {
  t: 'section';
  /** The length of the answer with it, in UTF-16 code units. */
  length: number;
  tokens: number;
  /** Usage of its last part, if no other entry has it. */
  usage: TurnUsage;
  /** Why the section was cut short, if it was. */
  cut: IncompleteReason | null;
}

/** The answer is written: nothing after this entry needs the model. */
export interface AnsweredEntry {
  t: 'answered';
  usage: TurnUsage;
  /** Why the answer was cut short, if it was. */
  cut: IncompleteReason | null;
  /** For a plain model: its message, as the provider wants it sent back. */
  message?: AssistantMessage;
}

/** Warnings for the end of the run. */
export interface WarnedEntry {
  t: 'warned';
  warnings: Warning[];
}

export type ExecutableCall = Extract<PlannedCall, { call: number }>;
