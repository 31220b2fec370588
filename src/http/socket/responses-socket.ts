import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RawData, WebSocket } from 'ws';
import { abortable } from '../../base/abort.ts';
import { GatewayError, messageOf, toGatewayError } from '../../base/errors.ts';
import type { Permit } from '../../base/fair-semaphore.ts';
import { parsePublicId, publicId, type RunId } from '../../base/ids.ts';
import { runInScope } from '../../base/load/event-loop.ts';
import { inSpan } from '../../base/telemetry/spans.ts';
import { traceOf } from '../../base/telemetry/trace-context.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { RunRecord } from '../../runs/runs.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import { refuseNewWork } from '../endpoint.ts';
import { errorAnswer } from '../errors.ts';
import { identify } from '../middleware/auth.ts';
import { parseObject } from '../middleware/body.ts';
import { chooseModel } from '../models.ts';
import { ClientLeft, newContext } from '../request-context.ts';
import { readResponse, submitResponse } from '../submission/response-request.ts';
import { type CreateFrame, createFrame, errorFrame, socketFrames, steerFailed, streamIdOf } from './create-frame.ts';
import { Lanes } from './lanes.ts';
import type { SocketTimes } from './times.ts';

/** How much may be queued for a client that does not read, in bytes. */
const MAX_UNREAD = 1024 * 1024;
/** How long a client may take to close its side, in milliseconds. */
const CLOSING_MS = 2000;
/** How long a response with `store: false` outlives its socket if the socket fails to remove it, in milliseconds. */
const SLACK_MS = 300_000;
const ROUTE = '/v1/responses';

export interface SocketOptions {
  ws: WebSocket;
  /** The request that became the socket. */
  req: IncomingMessage;
  key: KeyConfig;
  times: SocketTimes;
}

/**
 * Responses over one WebSocket (docs/api.md, "WebSocket"). Each is a run like any other. Failures are reported in a frame,
 * and the socket stays open.
 */
export class ResponsesSocket {
  readonly #deps: AppDeps;
  readonly #options: SocketOptions;
  readonly #lanes: Lanes;
  /** The responses with `store: false` of this socket. They are removed with it. */
  readonly #unstored = new Set<RunId>();
  readonly #closed = new AbortController();
  readonly #parts = new DisposableStack();
  #isAlive = true;

  constructor(deps: AppDeps, options: SocketOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#lanes = new Lanes(() => this.#closeIfStopping());
    const { ws, key, times } = options;
    const end = (reason: GatewayError) => this.#close(1008, reason.message);
    this.#parts.use(deps.openAnswers.add({ key, route: ROUTE, idle: true, end }));
    const pings = setInterval(() => this.#ping(), times.ping);
    const limit = setTimeout(() => this.#expire(), times.maxOpen);
    const onStopping = () => this.#closeIfStopping();
    deps.stopping.addEventListener('abort', onStopping);
    this.#parts.defer(() => {
      clearInterval(pings);
      clearTimeout(limit);
      deps.stopping.removeEventListener('abort', onStopping);
    });
    ws.on('pong', () => {
      this.#isAlive = true;
    });
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary));
    // After a frame that is invalid or too large the library closes the socket with the right code.
    ws.on('error', () => {});
    ws.once('close', () => void this.#onClose());
    if (ws.readyState !== ws.OPEN) void this.#onClose();
  }

  #receive(data: RawData, isBinary: boolean): void {
    const raw = bytesOf(data);
    const memory = this.#deps.bodies.open(this.#options.key.id);
    let stream: string | undefined;
    try {
      memory.grow(raw.length);
      if (isBinary) throw new GatewayError('invalid_json', 'Send JSON in text frames.');
      const frame = parseObject(raw);
      const failed = steerFailed(raw, frame);
      if (failed !== undefined) {
        memory[Symbol.dispose]();
        this.#sendRefusal(failed);
        return;
      }
      stream = streamIdOf(frame);
      const create = createFrame(raw, frame);
      this.#lanes.add(stream, () => this.#answer(create, memory));
    } catch (thrown) {
      memory[Symbol.dispose]();
      this.#refuse(thrown, stream);
    }
  }

  /** Handles one `response.create` to the end of its response. */
  async #answer(create: CreateFrame, memory: Permit): Promise<void> {
    const scope = { route: ROUTE, key: this.#options.key.id };
    try {
      // Work that was waiting when the socket closed is dropped.
      if (this.#closed.signal.aborted) return;
      const { contents } = this.#deps.config.current().telemetry;
      const root = { trace: traceOf(this.#options.req.headers), contents };
      const span = { name: `WS ${ROUTE}`, kind: 'server', root } as const;
      await runInScope(scope, () => inSpan(span, () => this.#respond(create, memory)));
    } catch (thrown) {
      if (!this.#closed.signal.aborted) this.#refuse(thrown, create.stream);
    } finally {
      memory[Symbol.dispose]();
    }
  }

  async #respond({ stream, body, generate }: CreateFrame, memory: Permit): Promise<void> {
    const identity = this.#identity();
    const { previous_response_id: previous } = body.json;
    let succeeded = false;
    try {
      refuseNewWork(this.#deps, { others: this.#deps.openAnswers.size });
      const request = await readResponse(this.#deps, identity, {
        ...chooseModel(identity, body.json.model, 'responses'),
        body,
      });
      const options = { generate, keepMs: this.#options.times.maxOpen + SLACK_MS };
      const { run } = await submitResponse(this.#deps, { req: this.#options.req, identity, request, options });
      memory[Symbol.dispose]();
      if (run.api === 'unstored') this.#unstored.add(run.id);
      if (this.#closed.signal.aborted) await this.#forgetAll();
      succeeded = (await this.#sendEvents(run, stream)) !== 'response.failed';
    } catch (thrown) {
      await this.#deps.attachments.discard(identity.context);
      throw forSocket(toGatewayError(thrown));
    } finally {
      // After a failed continuation the previous response cannot be continued again.
      if (!succeeded && !this.#closed.signal.aborted) await this.#forget(previous);
    }
  }

  /** Identifies the client by the current configuration. */
  #identity(): Identity {
    const config = this.#deps.config.current();
    const key = identify(this.#options.req, config, this.#deps);
    const caller = { user: key.user ?? key.id, keyId: key.id, reads: this.#unstored };
    const context = newContext(this.#closed, { id: randomUUID(), path: ROUTE, route: ROUTE });
    context.key = key.id;
    return { key, caller, config, context };
  }

  /** Sends the events of a run at the client's pace. Returns the type of the last one. */
  async #sendEvents(run: RunRecord, stream: string | undefined): Promise<string | undefined> {
    const { key } = this.#options;
    using _ = this.#deps.metrics.stream();
    using __ = this.#deps.openAnswers.add({ key, route: ROUTE, end: () => {} });
    const { signal } = this.#closed;
    let last: string | undefined;
    for await (const { frames } of this.#deps.runs.follow(run, { after: 0, signal, untilStopped: true })) {
      const events = [...socketFrames(frames, stream)];
      last = events.at(-1)?.type;
      await this.#send(events.map(({ text }) => text));
    }
    return last;
  }

  /** Resolves once the texts have been written. @throws the abort reason if the socket closes. */
  async #send(texts: readonly string[]): Promise<void> {
    const { ws, req } = this.#options;
    // One write for all: otherwise each frame is a system call.
    req.socket.cork();
    const sent = texts.map((text) => new Promise<void>((resolve) => ws.send(text, () => resolve())));
    req.socket.uncork();
    await abortable(Promise.all(sent), this.#closed.signal);
  }

  #refuse(thrown: unknown, stream: string | undefined): void {
    const error = toGatewayError(thrown);
    if (error.code === 'internal_error') this.#deps.log.error({ err: thrown }, 'a frame could not be answered');
    this.#sendRefusal(errorFrame(errorAnswer(error), stream));
  }

  /** Sends a refusal, or disconnects a client that sends without reading, so that refusals do not fill the memory. */
  #sendRefusal(refusal: string): void {
    const { ws } = this.#options;
    if (ws.bufferedAmount > MAX_UNREAD) ws.terminate();
    else ws.send(refusal, () => {});
  }

  #ping(): void {
    const { ws } = this.#options;
    if (this.#isAlive) {
      this.#isAlive = false;
      ws.ping();
      return;
    }
    // After a stall of the gateway, the pong may have arrived without having been read.
    setImmediate(() => {
      if (!this.#isAlive) ws.terminate();
    });
  }

  #expire(): void {
    const message = 'This WebSocket was open for as long as one may be. Open another one.';
    this.#refuse(new GatewayError('websocket_connection_limit_reached', message), undefined);
    this.#close(1000, message);
  }

  /** When the gateway stops, closes the socket once its responses have ended or were handed over. */
  #closeIfStopping(): void {
    if (!this.#deps.stopping.aborted) return;
    if (this.#lanes.idle) this.#close(1001, 'The gateway shuts down.');
  }

  #close(code: number, reason: string): void {
    const { ws } = this.#options;
    ws.close(code, reason);
    setTimeout(() => ws.terminate(), CLOSING_MS).unref();
    this.#closed.abort(new ClientLeft());
  }

  /** Stored runs go on. Those with `store: false` are removed, because nobody could read them. */
  async #onClose(): Promise<void> {
    this.#closed.abort(new ClientLeft());
    this.#parts.dispose();
    await this.#forgetAll();
  }

  /** Removes all responses with `store: false`, unless the gateway stops: then they are handed over like all runs. */
  async #forgetAll(): Promise<void> {
    if (this.#deps.stopping.aborted) return;
    for (const id of this.#unstored) await this.#forget(publicId('unstored', id));
  }

  /** Removes a response with `store: false` of this socket. If the store is unavailable, the response expires by itself. */
  async #forget(response: unknown): Promise<void> {
    const id = typeof response === 'string' ? parsePublicId('unstored', response) : undefined;
    if (typeof response !== 'string' || id === undefined || !this.#unstored.delete(id)) return;
    const { key } = this.#options;
    const caller = { user: key.user ?? key.id, keyId: key.id, reads: new Set([id]) };
    try {
      await this.#deps.runs.delete(await this.#deps.runs.find(caller, 'responses', response));
    } catch (thrown) {
      if (toGatewayError(thrown).code !== 'not_found') {
        this.#deps.log.warn({ run: id, err: messageOf(thrown) }, 'a response could not be removed');
      }
    }
  }
}

/** On a WebSocket an unknown `previous_response_id` has an error code of its own. */
function forSocket(error: GatewayError): GatewayError {
  if (error.code !== 'not_found' || error.param !== 'previous_response_id') return error;
  return new GatewayError('previous_response_not_found', error.message, { param: error.param });
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}
