import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { parseJson } from '../base/json.ts';
import { withoutTrailing } from '../base/text.ts';
import type { Effort } from '../config/schema.ts';
import { type RunEvent, runEvent } from '../protocol/events.ts';

/** The gateway answered with an error. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs: number | undefined) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The gateway could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the gateway had answered on this connection before it broke. */
  readonly answered: boolean;

  constructor(message: string, options: ErrorOptions & { answered: boolean }) {
    super(message, options);
    this.answered = options.answered;
  }
}

/** Heartbeats come every 15 s: a connection without a byte for this long is dead. In milliseconds. */
const SILENCE_MS = 60_000;
/** For answers that are no stream, in milliseconds. */
const ANSWER_MS = 30_000;

const listedModel = z.object({ id: z.string(), supported_apis: z.array(z.string()) });
const modelList = z.object({ data: z.array(listedModel) });
const errorBody = z.object({ error: z.object({ message: z.string(), code: z.string().nullable() }) });

export type ListedModel = z.output<typeof listedModel>;

/** What `ask` submits. */
export interface SubmittedQuestion {
  model: string;
  input: string;
  reasoning?: { effort: Effort };
}

/** A client of the gateway. */
export class GatewayClient {
  readonly baseUrl: string;
  readonly #apiKey: string;

  /** @param options.baseUrl of the gateway, with or without the final `/v1`. */
  constructor({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
    this.baseUrl = `${withoutTrailing(baseUrl, '/').replace(/\/v1$/, '')}/v1`;
    this.#apiKey = apiKey;
  }

  async models({ signal }: { signal: AbortSignal }): Promise<ListedModel[]> {
    const answer = await this.#ask('/models', { signal: soon(signal) }, signal);
    return modelList.parse(await answer.json()).data;
  }

  /** Submits a run and follows it from its first event. The same `idempotencyKey` never makes a second run. */
  submit(
    body: SubmittedQuestion,
    { idempotencyKey, signal }: { idempotencyKey: string; signal: AbortSignal },
  ): AsyncGenerator<RunEvent, void, undefined> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
    const request = { method: 'POST', headers, body: JSON.stringify({ ...body, stream: true }) };
    return this.#events('/responses', request, signal);
  }

  /** Follows a run from the event after number `after`. */
  follow(id: string, { after, signal }: { after: number; signal: AbortSignal }): AsyncGenerator<RunEvent, void> {
    const cursor = after === 0 ? '' : `&starting_after=${after}`;
    return this.#events(`/responses/${encodeURIComponent(id)}?stream=true${cursor}`, {}, signal);
  }

  async cancel(id: string, { signal }: { signal: AbortSignal }): Promise<void> {
    const path = `/responses/${encodeURIComponent(id)}/cancel`;
    await (await this.#ask(path, { method: 'POST', signal: soon(signal) }, signal)).body?.cancel();
  }

  async *#events(path: string, request: RequestInit, signal: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    using silence = silenceLimit(signal);
    const answer = await this.#ask(path, { ...request, signal: silence.signal }, signal);
    const events = answer.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ onComment: silence.restart }));
    try {
      for await (const { data } of events ?? []) {
        silence.restart();
        const parsed = runEvent.safeParse(parseJson(data));
        if (parsed.success) yield parsed.data;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw new ConnectionError(`the connection broke: ${messageOf(error)}`, { cause: error, answered: true });
    }
  }

  /** @throws RefusedError, ConnectionError, or the reason of `signal`, which `request.signal` follows. */
  async #ask(path: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
    const headers = { ...request.headers, authorization: `Bearer ${this.#apiKey}` };
    let answer: Response;
    try {
      answer = await fetch(`${this.baseUrl}${path}`, { ...request, headers, redirect: 'error' });
    } catch (error) {
      signal.throwIfAborted();
      const message = `${this.baseUrl} cannot be reached: ${messageOf(rootCause(error))}`;
      throw new ConnectionError(message, { cause: error, answered: false });
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

/** A signal that also aborts when an answer that is no stream takes too long. */
function soon(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
}

/** `fetch` wraps what the system said. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootCause(error.cause) : error;
}

async function refusal(answer: Response): Promise<RefusedError> {
  const { status } = answer;
  const parsed = errorBody.safeParse(parseJson(await answer.text().catch(() => '')));
  const message = parsed.success
    ? `${parsed.data.error.message} (${parsed.data.error.code ?? status})`
    : `HTTP status ${status}; is this the address of a research gateway?`;
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return new RefusedError(status, message, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}

/** A signal that also aborts after a silence. */
function silenceLimit(parent: AbortSignal): Disposable & { signal: AbortSignal; restart(): void } {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new Error(`nothing came for ${SILENCE_MS / 1000} s`)), SILENCE_MS);
  return {
    signal: AbortSignal.any([parent, silent.signal]),
    restart: () => void timer.refresh(),
    [Symbol.dispose]() {
      clearTimeout(timer);
      silent.abort();
    },
  };
}
