import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { storedObject } from '../../base/stored-object.ts';
import { incompleteReason } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { type AnsweringRoute, assistantMessage, turnTool, turnToolCall, turnUsage } from '../../upstream/turn.ts';
import { evidenceRecord } from './evidence.ts';
import { source } from './sources.ts';

/**
 * What the loop needs to continue after a crash, as entries that are only ever appended, in the form in which they are
 * stored. Fields added after the first version have a default or are optional.
 */

const count = z.int().nonnegative();

const executableCall = storedObject({
  id: z.string(),
  /** Its number in the run. */
  call: count,
  name: z.string(),
  arguments: z.string(),
  /** The arguments could not be parsed. */
  broken: z.literal(true).optional(),
  /** A function of the client's own: its result comes with the request that continues the research. */
  client: z.literal(true).optional(),
  /** The client has to approve it first. */
  asks: z.literal(true).optional(),
});
/** Not made, with the reason for the model. `again`: the number of an earlier, identical call, whose result it gets once more. */
const refusedCall = storedObject({ id: z.string(), refused: z.string(), again: count.optional() });
/** A tool call of a turn. */
const plannedCall = z.union([executableCall, refusedCall]);

/** A call of an earlier response that the client has approved, and the id of the approval request for it. */
export const approvedCall = storedObject({
  call: count,
  request: z.string(),
  /** The tool. Absent in transcripts of older versions. */
  name: z.string().optional(),
});

/** Why the research phase ended early; the answer is written from what was found. */
const forcedEnd = storedObject({
  reason: incompleteReason,
  /** The explanation that the model gets. */
  why: z.string(),
});

const price = storedObject({
  input: z.number().nonnegative(),
  cached_input: z.number().nonnegative().optional(),
  output: z.number().nonnegative(),
});
const route: z.ZodType<Pick<AnsweringRoute, 'provider' | 'model' | 'price'>> = storedObject({
  provider: z.string(),
  model: z.string(),
  price: price.optional(),
});
/** The parts of the first request that do not come from the client. */
const opening = storedObject({ system: z.string(), tools: z.array(turnTool) });

/** The schema of one kind of entry. */
function entry<T extends string, Shape extends z.core.$ZodLooseShape>(t: T, shape: Shape) {
  return storedObject({
    t: z.literal(t),
    /** The lane that it belongs to, counted from 1; absent for the run itself. */
    lane: z.int().positive().optional(),
    ...shape,
  });
}

/** A finished research turn. */
const turn = entry('turn', {
  message: assistantMessage,
  usage: turnUsage,
  /** One per tool call of `message`, in order. */
  calls: z.array(plannedCall),
  /** Calls of the client's own functions: they end the response once the other calls are made. */
  functions: z.array(turnToolCall).optional(),
  /** The model reached its output limit before it had said or requested anything complete. */
  cut: z.boolean().default(false),
  /** The model wrote tool results of its own; they were removed from `message`. */
  invented: z.boolean().default(false),
  /** The research ends with this turn, because a limit on tool calls is reached. */
  forced: forcedEnd.optional(),
  /** The gateway's own estimate of the request's tokens, to compare with what the provider counted. */
  estimate: z.number().nonnegative().default(0),
  /** Working time of the run so far, in milliseconds. Time during which no instance worked on the run does not count. */
  elapsedMs: z.number().nonnegative(),
  /** What the model noted in its message and its thoughts. Absent in transcripts of older versions. */
  notes: z.array(evidenceRecord).optional(),
  /** The route that served the turn: its prompt cache is warm. */
  route: route.optional(),
  /** In the first turn: how every request of the run begins, even if the configuration changes. */
  opening: opening.optional(),
  /** In a lane: its reasoning, which is sent once its calls have ended. */
  thought: z.string().optional(),
});

const result = entry('result', {
  call: count,
  status: z.enum(['completed', 'failed']),
  /** The text that client and model see. */
  result: z.string(),
  /** Sources that this call saw first, or read in full. */
  sources: z.array(source),
  /** The number of search queries; 0 if the call was no search. */
  queries: count.default(0),
  /** The evidence in the result. Absent in transcripts of older versions. */
  records: z.array(evidenceRecord).optional(),
  /** The URLs of images in a function's output, which the model gets after the text. */
  images: z.array(z.string()).optional(),
});

/** A message of the gateway to the model: why a guard stepped in, or the request to check the findings. */
const note = entry('note', {
  /** `user`: it passes on a message of the user. */
  guard: z.enum(['repetition', 'invented_result', 'refusal', 'said_nothing', 'cut', 'empty_result', 'verify', 'user']),
  text: z.string(),
  /** In a message of the user: the URLs of its images. */
  images: z.array(z.string()).optional(),
});

/** The reminder of the plan before the answer: its open items, or that there is no plan. At most once in a run. */
const reminder = entry('reminder', { text: z.string() });

/** A fresh attempt: from here on the model sees these notes instead of the earlier turns. */
const restart = entry('restart', {
  notes: z.string(),
  /** Lines of findings that follow the notes. Absent in transcripts of older versions, whose notes include them. */
  findings: z.string().optional(),
});

/** The research splits into lanes, each with a context of its own. At most once in a run. */
const lanes = entry('lanes', {
  /** `parts`: each lane has its own items of the plan. `attempts`: each lane has the whole question. */
  kind: z.enum(['parts', 'attempts']),
  /** The plan items of each lane; for attempts, how each of them starts. */
  tasks: z.array(z.array(z.string())),
});

/** The lanes have ended. From here on the model gets what they found as findings. */
const joined = entry('joined', {
  /** Lines of findings that replace all turns so far. */
  findings: z.string(),
  /** The first turn that is sent in full, counted from 0 over the whole run. */
  from: count,
  /** What the model is told about the lanes. */
  text: z.string(),
  /** Lanes that finished their task. */
  done: z.array(count),
  /** The limit that stopped the first unfinished lane. */
  cut: incompleteReason.optional(),
});

/**
 * The context was compacted: from here on the turns before `from` are sent as findings. These are never reworded,
 * unless a later entry rewrites all of them (`anew`).
 */
const compaction = entry('compaction', {
  /** Lines of findings of the turns that are newly replaced; '' if they found nothing. */
  findings: z.string(),
  /** Replaces all earlier findings, because the window became smaller or they fill it. */
  anew: z.literal(true).optional(),
  /** The first turn that is still sent in full, counted from 0 over the whole run. */
  from: count,
  /** Shortened results in the turns from `from` on, by call number. */
  shortened: z.record(z.string(), z.string()),
  /** The tokens that the opening has to fit into. */
  room: z.number(),
});

/** The conversation of a plain model up to here was summarised; `usage` is that of the turn that wrote the summary. */
const compacted = entry('compacted', { summary: z.string(), usage: turnUsage });

const force = entry('force', forcedEnd.shape);

/** Tokens of a turn that has no entry of its own: a cut or failed turn, or one that wrote a part of the answer. */
const spent = entry('spent', {
  usage: turnUsage,
  /** Search queries of calls without a result. */
  queries: count.optional(),
  /** The estimated size of the request, if the provider refused it as too long. */
  tooLarge: count.optional(),
  /** The output limit of that request, in tokens. */
  asked: count.optional(),
  /** The turn should have summarised the conversation of a plain model, and failed. */
  compacting: z.literal(true).optional(),
  /** For a turn of the answer: the length of the answer that is charged so far, in UTF-16 code units. */
  answerLength: count.optional(),
  /** The tokens of the answer that this turn wrote. */
  answerTokens: count.optional(),
  /** The owner released the run here, with no turn under way that is not charged. */
  handedOver: z.literal(true).optional(),
});

const outlineSection = storedObject({
  heading: z.string(),
  /** What it should cover, in the model's words. */
  aim: z.string(),
  /** The records that it is written from, counted from 1 in the order of the transcript. */
  records: z.array(z.int().positive()),
});
/** The planned sections of a report. At most once in a run; empty if the answer is written in one turn. */
const outline = entry('outline', {
  sections: z.array(outlineSection),
  usage: turnUsage,
  /** The gateway's own estimate of the request's tokens. */
  estimate: z.number().nonnegative(),
});

/** A part of a text that is buffered until it is checked. */
const draft = entry('draft', {
  text: z.string(),
  /** Whether the text is complete with this part. */
  whole: z.boolean(),
  /** Why the text was cut short, if it was. */
  cut: incompleteReason.optional(),
  usage: turnUsage,
});

/**
 * Words of a source that support a claim according to the model. `text` is '' if the model found none: the claim is doubted if
 * it stays, as where nothing else is left of a section.
 */
const acceptedPassage = storedObject({ claim: z.string(), source: z.int().positive(), text: z.string() });
/** The buffered text after the check, as it will be sent, with the passages that the model named. */
const checked = entry('checked', { text: z.string(), accepted: z.array(acceptedPassage), usage: turnUsage });

/** A section of a report is completely sent. */
const section = entry('section', {
  /** The length of the answer with it, in UTF-16 code units. */
  length: count,
  tokens: count,
  /** Usage of its last part, if no other entry has it. */
  usage: turnUsage,
  /** Why the section was cut short, if it was. */
  cut: incompleteReason.nullable(),
});

/** The answer is written: nothing after this entry needs the model. */
const answered = entry('answered', {
  usage: turnUsage,
  /** Why the answer was cut short, if it was. */
  cut: incompleteReason.nullable(),
  /** For a plain model: its message, as the provider wants it sent back. */
  message: assistantMessage.optional(),
});

/** Calls of an earlier response that the client has approved: this response makes them before the first turn. */
const approved = entry('approved', { calls: z.array(approvedCall) });

/** Warnings for the end of the run. A newer gateway may know more of them. */
const warned = entry('warned', { warnings: z.array(z.custom<Warning>(isObject)) });

export const transcriptEntry = z.discriminatedUnion('t', [
  turn,
  result,
  note,
  reminder,
  restart,
  lanes,
  joined,
  compaction,
  compacted,
  force,
  spent,
  outline,
  draft,
  checked,
  section,
  answered,
  approved,
  warned,
]);

export type TranscriptEntry = z.output<typeof transcriptEntry>;
export type TurnEntry = z.output<typeof turn>;
export type ResultEntry = z.output<typeof result>;
export type NoteEntry = z.output<typeof note>;
export type ReminderEntry = z.output<typeof reminder>;
export type RestartEntry = z.output<typeof restart>;
export type LanesEntry = z.output<typeof lanes>;
export type JoinedEntry = z.output<typeof joined>;
export type CompactionEntry = z.output<typeof compaction>;
export type SpentEntry = z.output<typeof spent>;
export type DraftEntry = z.output<typeof draft>;
export type CheckedEntry = z.output<typeof checked>;
export type SectionEntry = z.output<typeof section>;
export type AnsweredEntry = z.output<typeof answered>;
export type PlannedCall = z.output<typeof plannedCall>;
export type ExecutableCall = z.output<typeof executableCall>;
export type OpeningEntry = z.output<typeof opening>;
export type OutlineSection = z.output<typeof outlineSection>;
export type AcceptedPassage = z.output<typeof acceptedPassage>;
export type ForcedEnd = z.output<typeof forcedEnd>;
/** Why the gateway sent the model a note. */
export type GuardName = NoteEntry['guard'];
