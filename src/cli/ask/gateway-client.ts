import { createReadStream } from 'node:fs';
import { createParser } from 'eventsource-parser';
import OpenAI, { APIError } from 'openai';
import { z } from 'zod';
import { linkSignals } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { parseJson } from '../../base/json.ts';
import { withoutTrailing } from '../../base/text.ts';
import type { Effort } from '../../config/schema.ts';
import { type RunEvent, runEvent } from '../../protocol/events.ts';

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
/** How long an answer that is no stream may take, in milliseconds. */
const ANSWER_MS = 30_000;
/** How long an upload may take, in milliseconds. */
const UPLOAD_MS = 600_000;

const modelList = z.array(z.object({ id: z.string(), supported_apis: z.array(z.string()) }));
const errorBody = z.object({ message: z.string(), code: z.string().nullable() });

/** What `ask` submits. */
export interface SubmittedQuestion {
  model: string;
  input: string | OpenAI.Responses.ResponseInput;
  reasoning?: { effort: Effort } | undefined;
  tools?: OpenAI.Responses.Tool[];
}

/** A client of the gateway like that of any other program: OpenAI's SDK with another `baseURL`. */
export class GatewayClient {
  readonly baseUrl: string;
  readonly #openai: OpenAI;

  /** @param options.baseUrl of the gateway, with or without the final `/v1`. */
  constructor(options: { baseUrl: string; apiKey: string }) {
    this.baseUrl = `${withoutTrailing(options.baseUrl, '/').replace(/\/v1$/, '')}/v1`;
    this.#openai = new OpenAI({
      baseURL: this.baseUrl,
      apiKey: options.apiKey,
      // `followRun` reconnects.
      maxRetries: 0,
      timeout: ANSWER_MS,
      fetchOptions: { redirect: 'error' },
      // Send nothing from the environment of the terminal.
      organization: null,
      project: null,
    });
  }

  async models({ signal }: { signal: AbortSignal }): Promise<z.output<typeof modelList>> {
    const { data } = await this.#answered(this.#openai.models.list({ signal }), signal);
    return modelList.parse(data);
  }

  /** Uploads a file for the key's user. @returns its id. */
  async upload(path: string, { signal }: { signal: AbortSignal }): Promise<string> {
    const file = { file: createReadStream(path), purpose: 'user_data' as const };
    const { id } = await this.#answered(this.#openai.files.create(file, { signal, timeout: UPLOAD_MS }), signal);
    return id;
  }

  /** Submits a run and follows it from its first event. The same `idempotencyKey` never makes a second run. */
  submit(
    body: SubmittedQuestion,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): AsyncGenerator<RunEvent, void, undefined> {
    const headers = { 'Idempotency-Key': options.idempotencyKey };
    return this.#events(
      (signal) => this.#openai.responses.create({ ...body, stream: true }, { headers, signal }).asResponse(),
      options.signal,
    );
  }

  /** Follows a run from the event after number `after`. */
  follow(id: string, options: { after: number; signal: AbortSignal }): AsyncGenerator<RunEvent, void, undefined> {
    const cursor = options.after === 0 ? {} : { starting_after: options.after };
    return this.#events(
      (signal) => this.#openai.responses.retrieve(id, { stream: true, ...cursor }, { signal }).asResponse(),
      options.signal,
    );
  }

  async cancel(id: string, { signal }: { signal: AbortSignal }): Promise<void> {
    await this.#answered(this.#openai.responses.cancel(id, { signal }), signal);
  }

  /** Reads a stream that the SDK opened: the SDK's own iterator hides heartbeats. */
  async *#events(
    open: (signal: AbortSignal) => Promise<Response>,
    signal: AbortSignal,
  ): AsyncGenerator<RunEvent, void, undefined> {
    using silence = silenceLimit(signal);
    const answer = await this.#answered(open(silence.signal), signal);
    const events: RunEvent[] = [];
    const parser = createParser({
      onEvent: ({ data }) => {
        const { data: event } = runEvent.safeParse(parseJson(data));
        if (event) events.push(event);
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
      signal.throwIfAborted();
      throw new ConnectionError(`the connection broke: ${messageOf(error)}`, { cause: error, answered: true });
    }
  }

  /** @throws RefusedError, ConnectionError, or the signal's reason. */
  async #answered<T>(answer: PromiseLike<T>, signal: AbortSignal): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof APIError && error.status !== undefined) throw refusal(error);
      const cause = rootCause(error);
      throw new ConnectionError(`${this.baseUrl} cannot be reached: ${messageOf(cause)}`, {
        cause: error,
        answered: false,
      });
    }
  }
}

/** The innermost cause: the SDK and `fetch` wrap the system's error. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootCause(error.cause) : error;
}

function refusal(error: InstanceType<typeof APIError>): RefusedError {
  const status = Number(error.status);
  const parsed = errorBody.safeParse(error.error);
  const message = parsed.success
    ? `${parsed.data.message} (${parsed.data.code ?? status})`
    : `HTTP status ${status}; is this the address of a research gateway?`;
  const seconds = Number(error.headers?.get('retry-after') ?? Number.NaN);
  return new RefusedError(status, message, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}

/** A signal that also aborts if `restart` is not called for `SILENCE_MS`. */
function silenceLimit(parent: AbortSignal): Disposable & { signal: AbortSignal; restart(): void } {
  const linked = linkSignals([parent]);
  const silence = new ConnectionError(`nothing came for ${SILENCE_MS / 1000} s`, { answered: false });
  const timer = setTimeout(() => linked.abort(silence), SILENCE_MS);
  return {
    signal: linked.signal,
    restart: () => void timer.refresh(),
    [Symbol.dispose]() {
      clearTimeout(timer);
      linked.abort();
      linked[Symbol.dispose]();
    },
  };
}
