import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { linkSignals } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import { parseJson } from '../base/json.ts';
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

const modelList = z.object({ data: z.array(z.object({ id: z.string(), supported_apis: z.array(z.string()) })) });
const errorBody = z.object({ error: z.object({ message: z.string(), code: z.string().nullable() }) });

export interface ListedModel {
  id: string;
  supported_apis: string[];
}

/** A client of the gateway's HTTP API, on nothing but `fetch`. */
export class GatewayClient {
  readonly baseUrl: string;
  readonly #apiKey: string;

  /** @param options.baseUrl of the gateway, with or without the final `/v1`. */
  constructor(options: { baseUrl: string; apiKey: string }) {
    this.baseUrl = `${options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
    this.#apiKey = options.apiKey;
  }

  async models(options: { signal: AbortSignal }): Promise<ListedModel[]> {
    const answer = await this.#call('GET', '/models', options);
    return modelList.parse(await answer.json()).data;
  }

  /** Submits a run and follows it from its first event. The same `idempotencyKey` never makes a second run. */
  submit(
    body: object,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): AsyncGenerator<RunEvent, void, undefined> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': options.idempotencyKey };
    return this.#events('POST', '/responses', { headers, body: JSON.stringify(body), signal: options.signal });
  }

  /** Follows a run from the event after number `after`. */
  follow(id: string, options: { after: number; signal: AbortSignal }): AsyncGenerator<RunEvent, void, undefined> {
    const path = `/responses/${encodeURIComponent(id)}?stream=true&after=${options.after}`;
    return this.#events('GET', path, { signal: options.signal });
  }

  async cancel(id: string, options: { signal: AbortSignal }): Promise<void> {
    const answer = await this.#call('POST', `/responses/${encodeURIComponent(id)}/cancel`, options);
    await answer.body?.cancel();
  }

  async #call(method: string, path: string, options: { signal: AbortSignal }): Promise<Response> {
    using limited = linkSignals([options.signal], { what: `${method} ${path}`, timeoutMs: ANSWER_MS });
    const answer = await this.#fetch(method, path, { signal: limited.signal });
    // Read to its end under the limit.
    return new Response(await answer.arrayBuffer(), { status: answer.status });
  }

  async *#events(
    method: string,
    path: string,
    options: { headers?: Record<string, string>; body?: string; signal: AbortSignal },
  ): AsyncGenerator<RunEvent, void, undefined> {
    using silence = silenceLimit(options.signal);
    const answer = await this.#fetch(method, path, {
      ...options,
      headers: { ...options.headers, accept: 'text/event-stream' },
      signal: silence.signal,
    });
    const events: RunEvent[] = [];
    const parser = createParser({
      onEvent: ({ data }) => {
        const parsed = runEvent.safeParse(parseJson(data));
        if (parsed.success) events.push(parsed.data);
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body ?? []) {
        silence.restart();
        parser.feed(decoder.decode(chunk, { stream: true }));
        yield* events.splice(0);
      }
    } catch (error) {
      options.signal.throwIfAborted();
      throw new ConnectionError(`the connection broke: ${messageOf(error)}`, { cause: error, answered: true });
    }
  }

  async #fetch(
    method: string,
    path: string,
    options: { headers?: Record<string, string>; body?: string; signal: AbortSignal },
  ): Promise<Response> {
    const headers = { ...options.headers, authorization: `Bearer ${this.#apiKey}` };
    let answer: Response;
    try {
      answer = await fetch(this.baseUrl + path, { ...options, method, headers, redirect: 'error' });
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new ConnectionError(`${this.baseUrl} cannot be reached: ${messageOf(cause)}`, {
        cause: error,
        answered: false,
      });
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer: Response): Promise<RefusedError> {
  const text = await answer.text().catch(() => '');
  const parsed = errorBody.safeParse(parseJson(text));
  const message = parsed.success
    ? `${parsed.data.error.message} (${parsed.data.error.code ?? answer.status})`
    : `HTTP status ${answer.status}; is this the address of a research gateway?`;
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return new RefusedError(answer.status, message, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}

/** A signal that also aborts after a silence. */
function silenceLimit(parent: AbortSignal): Disposable & { signal: AbortSignal; restart(): void } {
  const linked = linkSignals([parent]);
  const expire = () =>
    linked.abort(new ConnectionError(`nothing came for ${SILENCE_MS / 1000} s`, { answered: false }));
  let timer = setTimeout(expire, SILENCE_MS);
  return {
    signal: linked.signal,
    restart() {
      clearTimeout(timer);
      timer = setTimeout(expire, SILENCE_MS);
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      linked.abort();
      linked[Symbol.dispose]();
    },
  };
}
