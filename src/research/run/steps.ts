import type { JsonObject } from '../../base/json.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import type { TranscriptEntry } from './transcript.ts';

/**
 * What the research loop yields, in order. Whoever drives it turns steps into events and stores `entry` in the same
 * atomic append, so that the transcript can neither lag nor lead the log (durability: "Going on after a crash").
 */
export type Step =
  /** Reasoning to show. Opens a reasoning item where none is open. */
  | { type: 'reasoning'; delta: string }
  /** Closes the open reasoning item, if any. `incomplete`: the turn was cut and will be repeated. */
  | { type: 'reasoning_end'; status: 'completed' | 'incomplete'; entry?: TranscriptEntry }
  /** A turn that asked for tools: closes the reasoning item and starts one item a call, in order. */
  | { type: 'tool_calls'; calls: readonly StartedCall[]; entry: TranscriptEntry }
  /** A tool call is done. `call` is its number in the run. */
  | { type: 'tool_result'; call: number; status: 'completed' | 'failed'; result: string; entry: TranscriptEntry }
  /**
   * Text of the final answer as the client reads it, and the citations that are complete with it. Opens the message
   * item where none is open.
   */
  | { type: 'answer'; delta: string; annotations?: readonly UrlCitation[]; entry?: TranscriptEntry }
  /** The MCP servers of the run and their tools, before anything else. Shown where the log has OpenAI's items. */
  | { type: 'mcp_servers'; servers: readonly ListedServer[] }
  /** Something to remember that nobody sees: a note to the model, tokens of a failed turn. */
  | { type: 'note'; entry: TranscriptEntry };

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
}

/** How a research run that wrote an answer ended. */
export interface ResearchOutcome {
  incomplete: IncompleteReason | null;
}
