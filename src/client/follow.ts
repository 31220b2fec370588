import type { RunEvent } from '../protocol/events.ts';

/**
 * For clients of a gateway, in browsers and in Node (docs/package.md, "Following a run"). It imports nothing but types.
 */
export type { RunEvent } from '../protocol/events.ts';
export type {
  CompactionItem,
  CustomToolCallItem,
  FunctionCallItem,
  MessageItem,
  OutputItem,
  ReasoningItem,
  ToolCallItem,
  UrlCitation,
} from '../protocol/items.ts';
export type {
  CodeInterpreterCall,
  McpApprovalRequest,
  McpCall,
  McpListTools,
  WebSearchCall,
} from '../protocol/openai-items.ts';
export type { Plan } from '../protocol/plan.ts';
export type { Claims, ResponseObject, Usage } from '../protocol/response.ts';
export type { Warning } from '../protocol/warnings.ts';

/** The part of an OpenAI SDK client that is used. */
export interface ResponsesClient {
  responses: {
    retrieve(
      id: string,
      query: { stream: true; starting_after?: number },
      options: { signal: AbortSignal },
    ): PromiseLike<AsyncIterable<unknown>>;
  };
}

export interface FollowOptions {
  /** The number of the last event that was seen before; 0, from the first one on, where absent. */
  after?: number;
  signal?: AbortSignal;
  /** How long a connection may bring no event before it is taken for dead, in milliseconds; 60 000 where absent. */
  silenceMs?: number;
  /** Called with the reason whenever a connection was lost, before the next one is tried. */
  onLost?(reason: unknown): void;
}

/** Tries in a row without an event before a run is given up; with the pauses between them, about a minute. */
const MAX_TRIES = 12;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Longer than models usually think without a word; what is taken for dead too early is resumed all the same. */
const SILENCE_MS = 60_000;

/** A connection was open and brought nothing: it is dead, or the run has nothing to say. */
class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/**
 * All events of a run, each once, over as many connections as it takes: a dropped stream is resumed after the last event
 * that was seen, until the terminal event.
 * @param client an OpenAI SDK client with the `baseURL` of a gateway.
 * @param id of a response that is stored and was created with `background: true` or streamed.
 * @throws what the client throws where the gateway refuses, or cannot be reached in the first place; the last reason after
 * 12 tries in a row without an event; the signal's reason.
 */
export async function* follow(
  client: ResponsesClient,
  id: string,
  options: FollowOptions = {},
): AsyncGenerator<RunEvent, void, undefined> {
  const { signal, silenceMs = SILENCE_MS } = options;
  let after = options.after ?? 0;
  let reached = false;
  const onOpen = () => {
    reached = true;
  };
  for (let tries = 1; ; tries++) {
    let lost: unknown;
    try {
      for await (const event of oneConnection(client, id, { after, signal, silenceMs, onOpen })) {
        if (event.sequence_number <= after) continue;
        after = event.sequence_number;
        tries = 0;
        yield event;
        if (isTerminal(event)) return;
      }
      // A gateway that shuts down in order ends its streams without a terminal event.
      lost = new Error('the stream ended before the run did');
    } catch (error) {
      signal?.throwIfAborted();
      if (!reached || isRefused(error)) throw error;
      lost = error;
      // The gateway answers: a model may think for longer than all tries together.
      if (error instanceof SilenceError) tries = 0;
    }
    if (tries >= MAX_TRIES) throw lost;
    options.onLost?.(lost);
    const backOff = FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random());
    await pause(Math.min(backOff, LONGEST_PAUSE_MS), signal);
  }
}

/** The events of one connection, which is left when nothing came for `silenceMs`. @throws SilenceError then. */
async function* oneConnection(
  client: ResponsesClient,
  id: string,
  options: { after: number; signal: AbortSignal | undefined; silenceMs: number; onOpen(): void },
): AsyncGenerator<RunEvent, void, undefined> {
  const { after, signal, silenceMs } = options;
  const controller = new AbortController();
  const leave = () => controller.abort(signal?.reason);
  const silent = () => controller.abort(new SilenceError(`nothing came for ${silenceMs / 1000} s`));
  const unanswered = () => controller.abort(new Error(`no answer for ${silenceMs / 1000} s`));
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave);
  let timer = setTimeout(unanswered, silenceMs);
  try {
    const query = { stream: true as const, ...(after > 0 && { starting_after: after }) };
    const events = await client.responses.retrieve(id, query, { signal: controller.signal });
    options.onOpen();
    clearTimeout(timer);
    timer = setTimeout(silent, silenceMs);
    for await (const event of events) {
      clearTimeout(timer);
      if (isRunEvent(event)) yield event;
      timer = setTimeout(silent, silenceMs);
    }
    // SDKs end an aborted stream without an error.
    controller.signal.throwIfAborted();
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    controller.abort();
  }
}

function isRunEvent(event: unknown): event is RunEvent {
  if (typeof event !== 'object' || event === null) return false;
  return 'sequence_number' in event && typeof event.sequence_number === 'number' && 'type' in event;
}

function isTerminal({ type }: RunEvent): boolean {
  return ['response.completed', 'response.incomplete', 'response.failed'].includes(type);
}

/** Whether asking again cannot help. The SDK's errors carry the HTTP status, those of a connection have none. */
function isRefused(error: unknown): boolean {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status < 500 && status !== 408 && status !== 429;
}

/** @throws the signal's reason. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
  });
}
