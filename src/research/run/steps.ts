import type { JsonObject } from '../../base/json.ts';
import type { MessagePhase, TokenLogprob, UrlCitation } from '../../protocol/items.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import type { TurnTool } from '../../upstream/turn.ts';
import type { TranscriptEntry } from './transcript.ts';

/**
 * What the research loop yields, in order. Whoever drives it turns steps into events and stores `entry` in the same
 * atomic append, so that the transcript can neither lag nor lead the log (docs/architecture.md, "The run store").
 */
export type Step =
  /** Reasoning to show. Opens a reasoning item where none is open. */
  | { type: 'reasoning'; delta: string }
  /**
   * Closes the open reasoning item, if any. `incomplete`: the turn was cut and will be repeated. `encrypted`: what its
   * client keeps of it; shown in an item of its own where none is open.
   */
  | { type: 'reasoning_end'; status: 'completed' | 'incomplete'; entry?: TranscriptEntry; encrypted?: string }
  /** A turn that asked for tools: closes the open item and starts one item a call, in order. */
  | { type: 'tool_calls'; calls: readonly StartedCall[]; entry: TranscriptEntry; encrypted?: string }
  /** A turn that called functions of the client's own, which ends the response. */
  | { type: 'function_calls'; calls: readonly FunctionCall[]; entry: TranscriptEntry; encrypted?: string }
  /**
   * A turn of a lane and its calls have ended: told at once, the thought first, then all calls as begun, then as ended.
   */
  | { type: 'lane_turn'; lane: number; thought: string; calls: readonly EndedCall[]; entry: TranscriptEntry }
  /** A tool call is done. `call` is its number in the run. */
  | { type: 'tool_result'; call: number; status: 'completed' | 'failed'; result: string; entry: TranscriptEntry }
  /**
   * Text of the final answer as the client reads it, the citations that are complete with it, and how probable its tokens
   * were. Opens the message item where none is open.
   */
  | {
      type: 'answer';
      delta: string;
      annotations?: readonly UrlCitation[];
      logprobs?: TokenLogprob[] | undefined;
      /** The model says in it that it will not answer. */
      refuses?: true | undefined;
      /** One that differs from that of the open message begins another one. */
      phase?: MessagePhase | undefined;
      entry?: TranscriptEntry;
    }
  /** The MCP servers of the run and their tools, before anything else. Shown where the log has OpenAI's items. */
  | { type: 'mcp_servers'; servers: readonly ListedServer[] }
  /** The conversation was summed up: an item that stands for it. */
  | { type: 'compaction'; encrypted: string; entry: TranscriptEntry }
  /** Something to remember that nobody sees: a note to the model, tokens of a failed turn. */
  | { type: 'note'; entry: TranscriptEntry };

/**
 * Whether a run gets further with a step. What a cut turn cost and what the client is to be told are stored, too, but a
 * run that stores nothing else before its process dies would begin again for ever.
 */
export function isProgress(step: Step): boolean {
  if (!('entry' in step) || !step.entry || (step.type === 'reasoning_end' && step.status === 'incomplete'))
    return false;
  const { entry } = step;
  // A part of the answer is finished with what it cost.
  return entry.t === 'spent' ? (entry.answerLength ?? 0) > 0 : entry.t !== 'warned';
}

/** Whether a step leaves something in the transcript that has to be stored first: behind a whole answer only the end comes. */
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
  /** Counts the run's calls from 0; the n-th tool_call item of the output belongs to call n. */
  call: number;
  name: string;
  /** JSON text. */
  arguments: string;
  /** The id of the request that the client approved it by. */
  approval?: string | undefined;
}

/** A tool call that is told once it is done. */
export interface EndedCall extends StartedCall {
  status: 'completed' | 'failed';
  result: string;
}

/** A call of a function that runs at the client, or of a tool that waits for its approval. */
export interface FunctionCall {
  /** By which the client names its output. */
  callId: string;
  name: string;
  /** The namespace that the function stands in, if any. */
  namespace?: string;
  /** As the model wrote them; the text of a custom tool; what a shell tool is to do, as its item has it. */
  arguments: string;
  /** What it is told as; absent: as a function's. `approval`: the tool runs here once the client approves. */
  as?: 'custom' | 'approval' | 'search' | ShellTool;
  /** What a search finds, where the client wants its function found first: the tool as the client has it. */
  found?: JsonObject;
}

/** A function of the client's own, as models are offered it. */
export interface OfferedFunction extends TurnTool {
  /** It stands for a tool that takes a text: its one string is that text. */
  custom?: true | undefined;
  /** It stands for a tool of OpenAI's that runs at the client. */
  shell?: ShellTool | undefined;
  /** It stands for the search of its client, which answers with more tools. */
  search?: true | undefined;
  /** Its client wants it found by a search first. The first one of a namespace holds its description, others ''. */
  deferred?: string | undefined;
}

/** OpenAI's tools that run at the client, by their types. */
export type ShellTool = 'local_shell' | 'shell' | 'apply_patch';

/** What a client calls a function that was offered as `name`: one in a namespace has both names. */
export function clientNames(
  name: string,
  functions: readonly { name: string }[],
): Pick<FunctionCall, 'name' | 'namespace'> {
  const dot = functions.some((own) => own.name === name) ? name.indexOf('.') : -1;
  return dot === -1 ? { name } : { namespace: name.slice(0, dot), name: name.slice(dot + 1) };
}

/** How a research run that wrote an answer ended. */
export interface ResearchOutcome {
  incomplete: IncompleteReason | null;
}

/**
 * What a search finds of the function that was offered as `name`, where its client wants it found first. One without a
 * namespace then has its own name as one, as OpenAI shows it: its SDK for Python finds it by both.
 */
export function foundFirst(
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
