import { linkSignals, sleep, TimeoutError } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { newRunId, parseItemId, parsePublicId, publicId, type RunId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { ResponseObject } from '../protocol/response.ts';
import type { LogBatch, RunApi, RunRecord, RunStatus, RunStore, RunSummary } from '../store/run-store.ts';
import { EndedLogs } from './ended-logs.ts';
import type { Executor } from './executor.ts';
import { follow } from './follow.ts';
import { conversationOf } from './history.ts';
import { newRun } from './new-run.ts';
import { foldResponse } from './projections/fold.ts';
import { taskEntry, taskJson } from './projections/task.ts';
import { retryWhileStoreAway } from './retry-while-store-away.ts';
import type { Caller, RunListQuery, Runs, Submission } from './runs.ts';
import { readInput, writeRequest } from './stored-request.ts';

export interface RunsOptions {
  store: RunStore;
  executor: Executor;
  clock: Clock;
  log: Logger;
  maxQueued(): number;
  retentionMs: number;
  /** The encryption key that belongs to an API key; see `base/encrypt.ts`. */
  encryptionKeyOf(keyId: string): Buffer | undefined;
  /** Aborts when the gateway begins to shut down: streams end, waits are given up. */
  closing: AbortSignal;
  /** Aborts when it drives no run any more: until then chat completions go on, because nobody can take them over. */
  stopped: AbortSignal;
}

/** How long a cancel waits for the executor before it takes the run over, in milliseconds. */
const CANCEL_WAIT_MS = 1500;
/** How long a second request of one idempotency key waits for the first to be stored, in milliseconds. */
const RESERVED_WAIT_MS = 2000;
const READ_BYTES = 1024 * 1024;

const OPEN: readonly RunStatus[] = ['queued', 'in_progress'];
const STATUS_OF_QUERY: Readonly<Record<NonNullable<RunListQuery['status']>, readonly RunStatus[]>> = {
  in_progress: OPEN,
  completed: ['completed'],
  failed: ['failed'],
  cancelled: ['cancelled'],
  CREATED: ['queued'],
  IN_PROGRESS: ['in_progress'],
  COMPLETED: ['completed'],
  FAILED: ['failed'],
  CANCELLED: ['cancelled'],
};

/** Runs over a store and an executor. */
export function createRuns(options: RunsOptions): Runs {
  return new StoredRuns(options);
}

class StoredRuns implements Runs {
  readonly #options: RunsOptions;
  readonly #store: RunStore;
  readonly #endedLogs: EndedLogs;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#endedLogs = new EndedLogs(options.store);
  }

  async submit(submission: Submission): Promise<{ run: RunRecord; replayed: boolean }> {
    if (this.#options.closing.aborted) throw shuttingDown();
    const { idempotency } = submission;
    if (!idempotency) return { run: await this.#create(newRunId(), submission), replayed: false };
    return await this.#submitOnce(submission, idempotency);
  }

  async find(caller: Caller, api: 'responses' | 'async', id: string): Promise<RunRecord> {
    const runId = parsePublicId(api, id);
    const run = runId && (await this.#owned(caller, runId));
    if (!run || !readableThrough(run, api)) throw notFound(id);
    return run;
  }

  async list(
    caller: Caller,
    api: 'responses' | 'async',
    query: RunListQuery,
  ): Promise<{ runs: RunSummary[]; hasMore: boolean }> {
    let after: RunId | undefined;
    if (query.after !== undefined) {
      after = parsePublicId(api, query.after);
      const run = after && (await this.#owned(caller, after));
      if (!run || run.api !== api) {
        throw new GatewayError('invalid_parameter', `after: there is no ${query.after} in this list.`, {
          param: 'after',
        });
      }
    }
    return await this.#store.list({
      user: caller.user,
      api,
      limit: query.limit,
      ...(after === undefined ? {} : { after }),
      ...(query.status === undefined ? {} : { status: STATUS_OF_QUERY[query.status] }),
      ...(query.model === undefined ? {} : { model: query.model }),
    });
  }

  follow(run: RunRecord, options: { after: number; signal: AbortSignal }): AsyncIterable<LogBatch> {
    if (!isOpen(run)) return this.#replay(run, options);
    if (options.after > run.last) {
      throw new GatewayError('invalid_parameter', `after: the last event of this run so far is ${run.last}.`, {
        param: 'after',
      });
    }
    return this.#followUntilClosing(run, options);
  }

  async response(run: RunRecord): Promise<ResponseObject> {
    if (!isOpen(run)) {
      const last = await this.#store.readLast(run.id);
      const event = last && decodeFrames(last.frames).at(-1);
      if (event && 'response' in event) return event.response;
      throw notFound(publicId('responses', run.id));
    }
    let response: ResponseObject | undefined;
    let after = 0;
    for (;;) {
      const batches = await this.#store.read(run.id, { after, maxBytes: READ_BYTES });
      const end = batches.at(-1);
      if (!end) break;
      for (const batch of batches) response = foldResponse(decodeFrames(batch.frames), response);
      after = end.last;
    }
    if (!response) throw notFound(publicId('responses', run.id));
    if (response.status !== 'in_progress' || run.startedAt === null) return response;
    return { ...response, started_at: Math.floor(run.startedAt / 1000) };
  }

  async ended(run: RunRecord, options: { signal: AbortSignal }): Promise<ResponseObject> {
    let current = run;
    if (isOpen(run)) {
      let ended = false;
      for await (const batch of this.follow(run, { after: run.last, signal: options.signal })) ended = batch.end;
      if (!ended && this.#options.closing.aborted) throw shuttingDown();
      current = await retryWhileStoreAway(() => this.#again(run), options.signal);
    }
    return await retryWhileStoreAway(() => this.response(current), options.signal);
  }

  async taskJson(run: RunRecord): Promise<string> {
    if (isOpen(run)) return taskJson(run, undefined);
    const response = await this.response(run);
    if (run.kind === 'research' || run.status !== 'completed') return taskJson(run, { response });
    const entry = (await this.#store.readTranscript(run.id)).at(-1);
    const stored: { body: string } | undefined = entry === undefined ? undefined : JSON.parse(entry);
    return taskJson(run, { response, ...(stored ? { proxyBody: stored.body } : {}) });
  }

  taskEntry(run: RunSummary) {
    return taskEntry(run);
  }

  inputItems(run: RunRecord): JsonObject[] {
    return readInput(run);
  }

  async cancel(run: RunRecord): Promise<ResponseObject> {
    const requested = await this.#store.requestCancel(run.id);
    if (requested.result === 'missing') throw notFound(publicId('responses', run.id));
    if (requested.result === 'accepted') await this.#endCancelled(run);
    return await this.response(await this.#again(run));
  }

  async delete(run: RunRecord): Promise<void> {
    if (isOpen(run)) await this.cancel(run);
    await this.#store.delete(run.id);
  }

  async findItem(caller: Caller, id: string): Promise<JsonObject> {
    const parsed = parseItemId(id);
    const run = parsed && (await this.#owned(caller, parsed.run));
    if (!parsed || !run || run.kind === 'proxy') throw notFound(id);
    const items = 'input' in parsed.place ? readInput(run) : (await this.response(run)).output;
    const item = items['input' in parsed.place ? parsed.place.input : parsed.place.output];
    if (!item || item.id !== id) throw notFound(id);
    return JSON.parse(JSON.stringify(item));
  }

  async history(caller: Caller, previousResponseId: string) {
    const id = parsePublicId('responses', previousResponseId);
    const run = id && (await this.#owned(caller, id));
    const param = { param: 'previous_response_id' };
    if (!run || !readableThrough(run, 'responses')) {
      throw new GatewayError('not_found', `There is no response ${previousResponseId}.`, param);
    }
    if (run.status !== 'completed') {
      throw new GatewayError(
        'invalid_parameter',
        `previous_response_id: ${previousResponseId} is not completed.`,
        param,
      );
    }
    return await conversationOf(this.#store, run, (await this.response(run)).output_text);
  }

  countOpen() {
    return this.#store.countOpen();
  }

  idOf(run: Pick<RunRecord, 'id'>, api: RunApi): string {
    return publicId(api, run.id);
  }

  async #create(id: RunId, submission: Submission): Promise<RunRecord> {
    const { clock, retentionMs, executor, encryptionKeyOf } = this.#options;
    await this.#refuseWhenFull();
    const held = (await submission.admit?.(id)) ?? {};
    const key = encryptionKeyOf(submission.caller.keyId);
    if (!key) throw new GatewayError('invalid_api_key', 'The API key is no longer known.');
    const request = writeRequest(submission, { key, held });
    await this.#store.create(newRun(id, submission, { now: clock.now(), retentionMs, request }));
    executor.wake(id);
    const run = await this.#store.get(id);
    if (!run) throw new GatewayError('store_unavailable', 'The run was not stored. Try again.', { retryAfterMs: 1000 });
    return run;
  }

  async #refuseWhenFull(): Promise<void> {
    const { queued } = await this.#store.countOpen();
    if (queued >= this.#options.maxQueued()) {
      throw new GatewayError('overloaded', 'Too many runs are waiting. Try again later.', { retryAfterMs: 5000 });
    }
  }

  /**
   * One run for one key. While another request holds the key without a run, it is about to store one or to be refused,
   * which frees the key; where it does neither it died, and this request stands in for it.
   */
  async #submitOnce(submission: Submission, { key, fingerprint, ttlMs }: NonNullable<Submission['idempotency']>) {
    const { clock, closing } = this.#options;
    const runId = newRunId();
    const until = performance.now() + RESERVED_WAIT_MS;
    for (;;) {
      const held = await this.#store.reserve(key, { runId, fingerprint }, { ttlMs, now: clock.now() });
      if (held.fingerprint !== fingerprint) {
        throw new GatewayError(
          'idempotency_key_reused',
          'This Idempotency-Key was used with another body. Use a new key.',
        );
      }
      const original = held.runId === runId ? undefined : await this.#store.get(held.runId);
      if (original) return { run: original, replayed: true };
      if (held.runId === runId || performance.now() > until) {
        return { run: await this.#createHolding(key, held.runId, submission), replayed: false };
      }
      await sleep(25, { signal: closing });
    }
  }

  /** Creates the run that holds an idempotency key; a refused one frees it. */
  async #createHolding(key: string, id: RunId, submission: Submission): Promise<RunRecord> {
    try {
      return await this.#create(id, submission);
    } catch (thrown) {
      await this.#store.unreserve(key, id).catch(() => {});
      throw thrown;
    }
  }

  /** The run, if it is this user's: every look-up by id goes through here (promise 7). */
  async #owned(caller: Caller, id: RunId): Promise<RunRecord | undefined> {
    const run = await this.#store.get(id);
    return run?.user === caller.user ? run : undefined;
  }

  async #again(run: RunRecord): Promise<RunRecord> {
    const now = await this.#store.get(run.id);
    if (!now) throw notFound(publicId('responses', run.id));
    return now;
  }

  /** An ended run: its whole log from memory shared by its readers, or a very long one from the store. */
  async *#replay(run: RunRecord, options: { after: number; signal: AbortSignal }): AsyncGenerator<LogBatch> {
    if (options.after >= run.last) return;
    const log = await this.#endedLogs.after(run, options.after);
    if (log) yield log;
    else yield* this.#followUntilClosing(run, options);
  }

  async *#followUntilClosing({ id, api }: RunRecord, options: { after: number; signal: AbortSignal }) {
    const closing = api === 'chat_completions' ? this.#options.stopped : this.#options.closing;
    using linked = linkSignals([options.signal, closing]);
    try {
      yield* follow(this.#store, id, { after: options.after, signal: linked.signal });
    } catch (thrown) {
      // At shutdown a stream ends in order, without a terminal event: clients go on elsewhere.
      if (!closing.aborted || options.signal.aborted) throw thrown;
    }
  }

  /** After an accepted cancel: its executor ends the run; where there is none, or it is frozen, this instance does. */
  async #endCancelled(run: RunRecord): Promise<void> {
    const { executor } = this.#options;
    if (!executor.cancel(run.id) && (await executor.takeOver(run.id, { force: false }))) return;
    using limit = linkSignals([], { what: 'cancel', timeoutMs: CANCEL_WAIT_MS });
    try {
      for await (const batch of follow(this.#store, run.id, { after: run.last, signal: limit.signal }))
        if (batch.end) return;
    } catch (thrown) {
      if (!(thrown instanceof TimeoutError)) throw thrown;
    }
    await executor.takeOver(run.id, { force: true });
  }
}

function isOpen(run: RunRecord): boolean {
  return run.status === 'queued' || run.status === 'in_progress';
}

/** Contract section 1: a research run is read through either interface, a proxy task only as a task. */
function readableThrough(run: RunRecord, api: 'responses' | 'async'): boolean {
  if (run.api === 'chat_completions') return false;
  return api === 'async' || run.kind === 'research';
}

function notFound(id: string): GatewayError {
  return new GatewayError('not_found', `There is no ${id.slice(0, 80)}.`);
}

function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down. Try again.', { retryAfterMs: 1000 });
}
