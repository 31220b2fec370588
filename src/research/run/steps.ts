import type { JsonObject } from '../../base/json.ts';
import type { MessagePhase, TokenLogprob, UrlCitation } from '../../protocol/items.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import type { OfferedFunction, ShellTool } from './request.ts';
import type { TranscriptEntry } from './transcript.ts';

/**
 * What the research loop yields, in order. Its driver turns steps into events and stores `entry` in the same atomic
 * append, so that the transcript can neither lag nor lead the log (docs/architecture.md, "The run store").
 */
export type Step =
  /** Reasoning to show. Opens a reasoning item where none is open. */
  | { type: 'reasoning'; delta: string }
  /**
   * Closes the open reasoning item, if any. `incomplete`: the turn was cut and will be repeated.
   */
  | ({ type: 'reasoning_end'; status: 'completed' | 'incomplete'; entry?: TranscriptEntry } & TurnExtras)
  /** A turn that asked for tools: closes the open item and starts one item a call, in order. */
  | ({ type: 'tool_calls'; calls: readonly StartedCall[]; entry: TranscriptEntry } & TurnExtras)
  /** A turn that called functions of the client's own, which ends the response. */
  | ({ type: 'function_calls'; calls: readonly FunctionCall[]; entry: TranscriptEntry } & TurnExtras)
  /**
   * A turn of a lane and its calls have ended. Its events come in one batch: the thought, the start of every call, the
   * end of every call.
   */
  | { type: 'lane_turn'; lane: number; thought: string; calls: readonly EndedCall[]; entry: TranscriptEntry }
  /** A tool call is done. `call` is its number in the run. */
  | { type: 'tool_result'; call: number; status: 'completed' | 'failed'; result: string; entry: TranscriptEntry }
  /**
   * Text of the final answer as the client reads it, with the citations that it completes and the log probabilities of
   * its tokens. Opens the message item if none is open.
   */
  | {
      type: 'answer';
      delta: string;
      annotations?: readonly UrlCitation[];
      logprobs?: TokenLogprob[] | undefined;
      /** The model says in it that it will not answer. */
      refuses?: true | undefined;
      /** A phase that differs from that of the open message starts another message. */
      phase?: MessagePhase | undefined;
      entry?: TranscriptEntry;
    }
  /** The MCP servers of the run and their tools: the first step, in logs that have OpenAI's items. */
  | { type: 'mcp_servers'; servers: readonly ListedServer[] }
  /** The conversation was summarised into an item that stands for it. */
  | { type: 'compaction'; encrypted: string; entry: TranscriptEntry }
  /** An entry that clients do not see: a note to the model, the tokens of a failed turn. */
  | { type: 'note'; entry: TranscriptEntry };

/** What else a finished turn of a plain model has. */
interface TurnExtras {
  /** The reasoning as the client stores it, sent in an item of its own if none is open. */
  encrypted?: string;
  /** The images that the model made, as data URLs: items behind the message. */
  images?: readonly string[];
}

/**
 * Whether a step brings a run forward. The cost of a cut turn and warnings are stored, too, but do not count: a run that
 * stores nothing else each time before its process dies would be retried forever.
 */
export function isProgress(step: Step): boolean {
  if (!('entry' in step) || !step.entry || (step.type === 'reasoning_end' && step.status === 'incomplete'))
    return false;
  const { entry } = step;
  // With `answerLength` the entry pays for a finished part of the answer.
  return entry.t === 'spent' ? (entry.answerLength ?? 0) > 0 : entry.t !== 'warned';
}

/** Whether a step's entry has to be stored before the loop goes on. After `answered` only the end of the run follows. */
export function isMilestone(step: Step): boolean {
  return 'entry' in step && step.entry !== undefined && step.entry.t !== 'answered';
}

/** An MCP server as a run found it. `error`: it could not be reached. */
export interface ListedServer {
  label: string;
  tools: { name: string; description: string; parameters: JsonObject }[];
  error?: string;
}

/** A tool call as the client sees it start. */
export interface StartedCall {
  /** Number of the call in the run, from 0; the n-th tool_call item of the output belongs to call n. */
  call: number;
  name: string;
  /** JSON text. */
  arguments: string;
  /** The id of the approval request that the client answered. */
  approval?: string | undefined;
}

/** A tool call that is reported once it is done. */
export interface EndedCall extends StartedCall {
  status: 'completed' | 'failed';
  result: string;
}

/** A call of a function that runs at the client, or of a tool that waits for its approval. */
export interface FunctionCall {
  /** The `call_id` that the client sends back with its output. */
  callId: string;
  name: string;
  /** The namespace of the function, if any. */
  namespace?: string;
  /** As the model wrote them; for a custom tool its text, for a shell tool the action in the form of its item. */
  arguments: string;
  /** The kind of item it becomes; absent: a function call. `approval`: the tool runs here once the client approves. */
  as?: 'custom' | 'approval' | 'search' | ShellTool;
  /** For a function that the client defers to tool search: the search result that goes before the call. */
  found?: JsonObject;
}

/** The client's name of a function that was offered as `name`; a function in a namespace was offered as `namespace.name`. */
export function clientNames(
  name: string,
  functions: readonly Pick<OfferedFunction, 'name' | 'dotted'>[],
): Pick<FunctionCall, 'name' | 'namespace'> {
  const offered = functions.find((own) => own.name === name);
  const dot = offered && !offered.dotted ? name.indexOf('.') : -1;
  return dot === -1 ? { name } : { namespace: name.slice(0, dot), name: name.slice(dot + 1) };
}

/** How a research run that wrote an answer ended. */
export interface ResearchOutcome {
  incomplete: IncompleteReason | null;
}

/**
 * The tool-search result for the function that was offered as `name`, if the client deferred it. A deferred function
 * without a namespace gets its own name as one, as OpenAI does: OpenAI's Python SDK looks it up by both.
 */
export function searchResultOf(
  name: string,
  functions: readonly OfferedFunction[],
): Pick<FunctionCall, 'found' | 'namespace'> {
  const offered = functions.find((own) => own.name === name);
  if (offered?.deferred === undefined) return {};
  const { description, parameters, strict = null } = offered;
  const { name: bare, namespace } = clientNames(name, functions);
  const tool = { type: 'function', name: bare, description, parameters, strict, defer_loading: true };
  if (namespace === undefined) return { found: tool, namespace: name };
  const first = functions.find((own) => own.deferred !== undefined && own.name.startsWith(`${namespace}.`));
  return { found: { type: 'namespace', name: namespace, description: first?.deferred ?? '', tools: [tool] } };
}
