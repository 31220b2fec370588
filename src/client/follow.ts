import type { RunEvent } from '../protocol/events.ts';

/**
 * For clients of a gateway, in browsers and in Node (docs/package.md, "Following a run"). Imports only types.
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
} from '../protocol/openai/items.ts';
export type { Plan } from '../protocol/plan.ts';
export type { Claims, ResponseObject, Usage } from '../protocol/response.ts';
export type { Warning } from '../protocol/warnings.ts';

/** The part of an OpenAI SDK client that `follow` uses. */
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
  /** The number of the last event that was received before; defaults to 0, which follows from the first one. */
  after?: number;
  signal?: AbortSignal;
  /** How long a connection without events is considered alive, in milliseconds; defaults to 60 000. */
  silenceMs?: number;
  /** Called with the reason whenever a connection is lost, before the next attempt. */
  onLost?(reason: unknown): void;
}

/** How many attempts in a row may bring no event before giving up; with the pauses between them, about a minute. */
const MAX_TRIES = 12;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/** Longer than models usually think without output; a connection that is dropped too early is resumed anyway. */
const SILENCE_MS = 60_000;

/** An open connection brought no event: either it is dead, or the run has nothing to say. */
class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/**
 * Yields the events of a run, each once, over as many connections as it takes, until the terminal event: a dropped stream
 * is resumed after the last event received.
 * @param client an OpenAI SDK client with the `baseURL` of a gateway.
 * @param id of a response that is stored and was created with `background: true` or streamed.
 * @throws what the client throws if the gateway refuses, or cannot be reached at all; the last reason after 12 attempts in
 * a row without an event; the signal's reason.
 */
export async function* follow(
  client: ResponsesClient,
  id: string,
  options: FollowOptions = {},
): AsyncGenerator<RunEvent, void, undefined> {
  const { signal, silenceMs = SILENCE_MS } = options;
  let after = options.after ?? 0;
  let hasConnected = false;
  const onOpen = () => {
    hasConnected = true;
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
      // A gateway that shuts down gracefully ends its streams without a terminal event.
      lost = new Error('the stream ended before the run did');
    } catch (error) {
      signal?.throwIfAborted();
      if (!hasConnected || isRefused(error)) throw error;
      lost = error;
      // The gateway answers, and a model may think for longer than all attempts together take.
      if (error instanceof SilenceError) tries = 0;
    }
    if (tries >= MAX_TRIES) throw lost;
    options.onLost?.(lost);
    const backOff = FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random());
    await pause(Math.min(backOff, MAX_PAUSE_MS), signal);
  }
}

/** Yields the events of one connection. @throws SilenceError if none came for `silenceMs`. */
async function* oneConnection(
  client: ResponsesClient,
  id: string,
  options: { after: number; signal: AbortSignal | undefined; silenceMs: number; onOpen(): void },
): AsyncGenerator<RunEvent, void, undefined> {
  const { after, signal, silenceMs } = options;
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const onSilence = () => controller.abort(new SilenceError(`nothing came for ${silenceMs / 1000} s`));
  const onNoAnswer = () => controller.abort(new Error(`no answer for ${silenceMs / 1000} s`));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  let timer = setTimeout(onNoAnswer, silenceMs);
  try {
    const query = { stream: true as const, ...(after > 0 && { starting_after: after }) };
    const events = await client.responses.retrieve(id, query, { signal: controller.signal });
    options.onOpen();
    clearTimeout(timer);
    timer = setTimeout(onSilence, silenceMs);
    for await (const event of events) {
      clearTimeout(timer);
      if (isRunEvent(event)) yield event;
      timer = setTimeout(onSilence, silenceMs);
    }
    // SDKs end an aborted stream without an error.
    controller.signal.throwIfAborted();
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
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

/** Whether another attempt cannot help. The SDK's errors carry the HTTP status; connection errors have none. */
function isRefused(error: unknown): boolean {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status < 500 && status !== 408 && status !== 429;
}

/** @throws the signal's reason. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
  });
}
