import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';

/**
 * A web page or document that a tool found. `listed`: it appeared in search results; `read`: its text was retrieved.
 * The run numbers it (`source_id`, docs/research.md, "Sources and citations") when the tool call ends.
 */
export interface ToolSource {
  url: string;
  title: string;
  /** A short passage, at most a few hundred characters. */
  snippet: string;
  /** When it was published, ISO 8601, if known. */
  published?: string;
  kind: 'listed' | 'read';
}

/** What a tool call returns. */
export interface ToolOutput {
  /** Sources in the order in which the run should number them. */
  sources: readonly ToolSource[];
  /**
   * The result as docs/research.md, "Tools", describes it, or text. It is a function because the run assigns `source_id`s:
   * `sourceId(url)` is the number of a URL in `sources`.
   */
  result(sourceId: (url: string) => number): JsonValue;
  /** True if the result is a failure that the model should see as one. */
  failed?: boolean;
}

/** What a tool call receives besides its arguments. */
export interface ToolContext {
  /** Aborts when the run is cancelled or the tool's time limit has passed. A tool stops within a second. */
  signal: AbortSignal;
  log: Logger;
  /** Called with the number of queries that are about to be sent to search providers. */
  onSearch?: (queries: number) => void;
}

/** A failed tool call; the model and the client receive it as `{"error": {"message", "code"}}`. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /** Short and stable, such as `not_found`, `blocked_address`, `timeout`, `too_large`, `invalid_arguments`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A server-side tool. Implementations hold no state of a run. */
export interface Tool {
  /** Name as the client sees it: `web_search`, or `<server>.<tool>` for MCP. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as sent to the model. */
  readonly parameters: JsonObject;
  /** Time limit of one call in milliseconds. */
  readonly timeoutMs: number;
  /** Set on the placeholder for the tools of a server that could not be reached; clients see it. */
  readonly unreachable?: { server: string; reason: string };
  /** Set on one tool of a server that has more than are offered; clients are told. */
  readonly leftOut?: { server: string; count: number };
  /**
   * Runs the tool. `args` is parsed JSON and not yet validated.
   * @throws ToolError for every failure that the model should hear of.
   */
  call(args: JsonObject, context: ToolContext): Promise<ToolOutput>;
}
