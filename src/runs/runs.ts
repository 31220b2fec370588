import { linkSignals } from '../base/abort.ts';
import { fieldError, GatewayError, shuttingDown } from '../base/errors.ts';
import { parseItemId, parsePublicId, publicId, type RunId } from '../base/ids.ts';
import { runInTurn, yieldToEventLoop } from '../base/load/event-loop.ts';
import type { Logger } from '../base/logger.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { ResponseObject } from '../protocol/response.ts';
import type { ContinuedResearch, FunctionOutputs } from '../research/run/request.ts';
import { isStoreUnavailable } from '../store/failure.ts';
import { dropUpTo } from '../store/frames.ts';
import type { LogBatch, RunRecord, RunStore, RunSummary } from '../store/run-store.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';
import { Cancels } from './executing/cancels.ts';
import { answerOf } from './projections/report.ts';
import { taskJson } from './projections/task.ts';
import { timelineOf } from './projections/timeline.ts';
import type { TurnPromptQuery } from './projections/turn-prompt.ts';
import { EndedLogs } from './reading/ended-logs.ts';
import { type FollowLogOptions, followLog } from './reading/follow.ts';
import { listRuns, noteDeletedRun, type RunListQuery } from './reading/list-runs.ts';
import { namedItems } from './reading/named-items.ts';
import { handedOver, isHiddenRun, isOpen, isReadableThrough, notFound } from './reading/readable.ts';
import type { ResponseFold } from './reading/response-fold.ts';
import { ResponseJsonCache } from './reading/response-json-cache.ts';
import { retryWhileStoreAway } from './reading/retry-while-store-away.ts';
import { Snapshots } from './reading/snapshots.ts';
import { readPlainRequest, readResearchRequest, readSettings } from './stored/stored-request.ts';
import { parseProxyResult, readTranscript } from './stored/stored-transcript.ts';
import type { Caller, RepeatKey, Submission, SubmissionResult } from './submission.ts';
import { conversationUpTo, followUpContext, lastResearch, pendingApprovals } from './submitting/history.ts';
import { resumeResearch, runOfCalls } from './submitting/resume-research.ts';
import { Submissions, type SubmissionsOptions } from './submitting/submissions.ts';

/** Re-exported for routes and answers, which must not import the store. */
export type { RunRecord, RunSummary };

export interface RunsOptions extends Omit<SubmissionsOptions, 'cancels'> {
  entries: EntryStore;
  log: Logger;
  /** Aborts when the gateway begins to shut down: streams and waits end. */
  closing: AbortSignal;
  /** Aborts when this process no longer drives any run: until then chat completions continue, as nobody can take them over. */
  stopped: AbortSignal;
}

/**
 * Runs as the HTTP floor sees them, over a store and an executor. Everything is read from the event log; memory holds only
 * copies of stored events. All methods may throw `store_unavailable`.
 */
export class Runs {
  readonly #options: RunsOptions;
  readonly #store: RunStore;
  readonly #endedLogs: EndedLogs;
  readonly #snapshots: Snapshots;
  readonly #jsonCache = new ResponseJsonCache();
  readonly #cancels: Cancels;
  readonly #submissions: Submissions;
  /** The first events of runs submitted here, which saves their first readers a read of the store. */
  readonly #beginnings = new WeakMap<RunRecord, LogBatch>();

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#endedLogs = new EndedLogs(options.store);
    this.#snapshots = new Snapshots(options.store);
    this.#cancels = new Cancels(options);
    this.#submissions = new Submissions({ ...options, cancels: this.#cancels });
  }

  /**
   * Stores a run with its first two events and begins it here if there is room, otherwise wakes the executor.
   * @throws GatewayError `overloaded` (queue full), `shutting_down`, `idempotency_key_reused`, `not_found` (the run of
   * an idempotency key was deleted).
   */
  async submit(submission: Submission): Promise<SubmissionResult> {
    if (this.#options.closing.aborted) throw shuttingDown();
    const submitted = await this.#submissions.submit(submission);
    if (submitted.beginning) this.#beginnings.set(submitted.run, submitted.beginning);
    return submitted;
  }

  /**
   * The run of the submission that this is a repeat of; undefined if there is none.
   * @throws GatewayError `idempotency_key_reused`, `not_found` as `submit`.
   */
  async findRepeated(repeat: RepeatKey, caller: Caller): Promise<RunRecord | undefined> {
    return (await this.#submissions.findRepeated(repeat, caller))?.run;
  }

  /**
   * The one way from an id to a run (promise 7): unknown, foreign and wrongly prefixed ids are all `not_found`.
   * `api` is the interface of the route; a research run can be read through both, a proxy task only as a task, a
   * chat completion through neither.
   */
  async find(caller: Caller, api: 'responses' | 'async', id: string): Promise<RunRecord> {
    const runId = parsePublicId(api, id);
    const run = runId && (await this.#findOwned(caller, runId));
    if (!run || !isReadableThrough(run, api)) throw notFound(id, api);
    return run;
  }

  /** @throws GatewayError `invalid_parameter` (`after`, `before`) for a cursor that is unknown or foreign. */
  async list(caller: Caller, api: 'responses' | 'async', query: RunListQuery) {
    const find = (id: RunId) => this.#findOwned(caller, id);
    return await listRuns(this.#options, query, { user: caller.user, api, find });
  }

  /**
   * The log after event `after`: what is stored, then live, until the terminal event was yielded, the signal aborts or the
   * gateway shuts down. Frames are bytes to be copied. A slow reader is switched back to the store.
   * @throws GatewayError `invalid_parameter` (`after`) past the end of a run in progress.
   */
  follow(run: RunRecord, options: FollowLogOptions): AsyncIterable<LogBatch> {
    if (!isOpen(run)) return this.#replay(run, options);
    if (options.after > run.last) {
      throw fieldError('invalid_parameter', 'after', `the last event of this run so far is ${run.last}.`);
    }
    return this.#followUntilClosing(run, options);
  }

  /** The response object, folded from the log at this moment (docs/api.md, "The other Responses endpoints"). */
  async response(run: RunRecord): Promise<ResponseObject> {
    if (!isOpen(run)) {
      const last = await runInTurn(() => this.#store.readLast(run.id));
      const event = last && (await runInTurn(() => decodeFrames(last.frames).at(-1)));
      if (event && 'response' in event) return event.response;
      throw await this.#unreadableError(run);
    }
    const fold = await this.#ownFold(run);
    const response = fold ? fold.response : await this.#snapshots.of(run);
    if (!response) throw await this.#unreadableError(run);
    if (response.status !== 'in_progress' || run.startedAt === null) return response;
    return { ...response, started_at: Math.floor(run.startedAt / 1000) };
  }

  async responseJson(run: RunRecord): Promise<Buffer> {
    const make = async () => Buffer.from(JSON.stringify(await this.response(run)));
    if (!isOpen(run)) return await this.#jsonCache.get(run.id, 'ended', make);
    const fold = await this.#ownFold(run);
    return fold ? await this.#jsonCache.get(run.id, `${fold.last} ${run.startedAt}`, make) : await make();
  }

  /** When its events were recorded, and what its turns used; empty for runs of versions that stored no times. */
  async timeline(run: RunRecord) {
    return timelineOf(run, run.kind === 'proxy' ? [] : await runInTurn(() => this.#store.readTranscript(run.id)));
  }

  /** The prompt of a turn of a research run. @throws GatewayError `not_found` if there is none, or it is not stored. */
  async turnPrompt(run: RunRecord, query: TurnPromptQuery) {
    const request = run.kind === 'research' ? readResearchRequest(run) : undefined;
    const entries = request ? await readTranscript(this.#store, run.id) : [];
    const before = request ? await this.#options.carried.entriesBefore(request) : [];
    // Imported late, so that starting the gateway does not load the research loop.
    const { turnPromptOf } = await import('./projections/turn-prompt.ts');
    const prompt = await runInTurn(() => turnPromptOf(run, { entries, before }, query));
    return { id: publicId('responses', run.id), ...prompt };
  }

  /** Waits for the end. @throws GatewayError `shutting_down`; the signal's reason. */
  async waitForEnd(run: RunRecord, options: { signal: AbortSignal }): Promise<ResponseObject> {
    let current = run;
    if (isOpen(run)) {
      let ended = false;
      for await (const batch of this.follow(run, { after: run.last, signal: options.signal })) ended = batch.end;
      if (!ended && this.#options.closing.aborted) throw handedOver(run);
      current = await retryWhileStoreAway(() => this.#reload(run), options.signal);
    }
    return await retryWhileStoreAway(() => this.response(current), options.signal);
  }

  /** The task as `GET /v1/async/:id` shows it; as JSON text, because a proxy result is copied byte for byte. */
  async taskJson(run: RunRecord): Promise<string> {
    if (isOpen(run)) return taskJson(run, undefined);
    const response = await this.response(run);
    if (run.kind === 'research' || run.status !== 'completed') {
      return taskJson(run, { response, isPlain: readPlainRequest(run) !== undefined });
    }
    const entry = (await runInTurn(() => this.#store.readTranscript(run.id))).at(-1);
    if (entry === undefined) throw await this.#unreadableError(run);
    return taskJson(run, { response, proxyBody: parseProxyResult(entry).body });
  }

  /**
   * Cancels a run, waits for its end (bounded) and returns the ended response; an ended run stays unchanged. If the store
   * is away, the work still stops and the cancel is deferred: then `store_unavailable`.
   */
  async cancel(run: RunRecord): Promise<ResponseObject> {
    if (!isOpen(run)) return await this.response(run);
    if ((await this.#cancels.cancel(run)) === 'missing') throw notFound(publicId('responses', run.id));
    return await this.response(await this.#reload(run));
  }

  /** `find`, then `cancel`. A run that is driven here is stopped without a lookup in the store. */
  async cancelById(caller: Caller, api: 'responses' | 'async', id: string): Promise<ResponseObject> {
    const runId = parsePublicId(api, id);
    const driven = runId === undefined ? undefined : this.#options.executor.leaseOf(runId)?.run;
    if (driven?.user === caller.user && isReadableThrough(driven, api)) return await this.cancel(driven);
    let run: RunRecord;
    try {
      run = await this.find(caller, api, id);
    } catch (thrown) {
      throw runId === undefined ? thrown : this.#cancels.deferWhileAway(runId, thrown, { user: caller.user });
    }
    return await this.cancel(run);
  }

  /** Cancels a run in progress, lets its readers see the end, then removes it. */
  async delete(run: RunRecord): Promise<void> {
    if (isOpen(run)) await this.cancel(run);
    await this.#options.conversations.saveOutcome(run);
    await noteDeletedRun(this.#options, run, this.#options.clock.now());
    await this.#store.delete(run.id);
    await this.#options.carried.runRemoved(run);
    this.#submissions.deleted();
  }

  /** The items of the caller's runs that have these ids, for `item_reference`; each run is read once. */
  async *findItems(caller: Caller, ids: readonly string[]) {
    for (const [id, itemIds] of Map.groupBy(ids, (itemId) => parseItemId(itemId)?.run)) {
      const run = id && (await this.#findOwned(caller, id));
      if (run && run.kind !== 'proxy') yield* namedItems(run, itemIds, () => this.response(run));
    }
  }

  /** Earlier turns and sources of a chain. @throws GatewayError `not_found`, or `invalid_parameter` if one is not `completed`. */
  async history(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const context = await followUpContext(this.#options, run, answerOf(await this.response(run)));
    // The transcript of a run that was removed meanwhile reads as empty.
    await this.#reload(run);
    return context;
  }

  /**
   * The research that waits for these function outputs: that of `previous`, else the one that the last of their calls
   * names. Undefined if none waits. @throws GatewayError as `submitting/resume-research.ts`, if `previous` is given.
   */
  async resumeResearch(
    caller: Caller,
    { previous, ...answered }: FunctionOutputs & { previous?: string | undefined },
  ): Promise<ContinuedResearch | undefined> {
    const resume = async (run: RunRecord, param?: string) => {
      const output = async () => (await this.response(run)).output;
      return await resumeResearch(this.#options, run, { ...answered, param, output, isThere: () => this.#reload(run) });
    };
    if (previous !== undefined) return await resume(await this.#previous(caller, previous), 'input');
    const id = runOfCalls(answered.outputs.keys());
    const run = id === undefined ? undefined : await this.#findOwned(caller, id);
    return run?.status === 'completed' ? await resume(run) : undefined;
  }

  /** The settings made by items of the conversation up to and including a response. @throws GatewayError as `history`. */
  async settings(caller: Caller, previousResponseId: string) {
    return readSettings(await this.#previous(caller, previousResponseId));
  }

  /**
   * Like `history`, for a plain model: the whole conversation up to and including that response, which may be `incomplete`.
   * `pendingApprovals`: the calls that it asks approval for, by the ids of their requests; `settings`: see `settings`.
   */
  async conversation(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const messages = await conversationUpTo(this.#options, run, () => this.response(run));
    const output = async () => (await this.response(run)).output;
    const approvals = await pendingApprovals(run, { output, messages });
    return { messages, pendingApprovals: approvals, settings: readSettings(run), research: lastResearch(run) };
  }

  async #previous(caller: Caller, previousResponseId: string): Promise<RunRecord> {
    const id = parsePublicId('responses', previousResponseId);
    const run = id && (await this.#findOwned(caller, id));
    const param = 'previous_response_id';
    if (!run || !isReadableThrough(run, 'responses')) {
      throw new GatewayError('not_found', `There is no response ${previousResponseId}.`, { param });
    }
    if (run.status === 'completed') return run;
    throw fieldError('invalid_parameter', param, `${previousResponseId} is not completed.`);
  }

  countOpen() {
    return this.#store.countOpen();
  }

  /** Runs that this process drives. */
  executing(): number {
    return this.#options.executor.active;
  }

  /** The fold of a run that is driven here, unless this process lost the claim and does not know yet. */
  async #ownFold(run: RunRecord): Promise<ResponseFold | undefined> {
    const fold = this.#options.executor.leaseOf(run.id)?.fold;
    // Events stored a moment ago reach the fold only once the writer gets the store's answer.
    if (fold && fold.last < run.last) await yieldToEventLoop();
    return fold && fold.last >= run.last ? fold : undefined;
  }

  /** The run, if it is this user's and still visible: every lookup by id goes through here (promise 7). */
  async #findOwned(caller: Caller, id: RunId): Promise<RunRecord | undefined> {
    const run = await this.#store.get(id);
    return run?.user !== caller.user || isHiddenRun(run, caller) ? undefined : run;
  }

  /** The current record. @throws GatewayError `not_found` if the run was removed meanwhile. */
  async #reload(run: RunRecord): Promise<RunRecord> {
    const current = await this.#store.get(run.id);
    if (!current) throw notFound(publicId('responses', run.id));
    return current;
  }

  /** The error for a run whose record was found without its log or transcript: 404 only if it was removed meanwhile. */
  async #unreadableError(run: RunRecord): Promise<GatewayError> {
    await this.#reload(run);
    return new GatewayError('store_unavailable', 'This run cannot be read now. Try again.', { retryAfterMs: 1000 });
  }

  /** The log of an ended run: from a cache shared by its readers, or from the store if it is very long. */
  async *#replay(run: RunRecord, options: FollowLogOptions): AsyncGenerator<LogBatch> {
    if (options.after >= run.last) return;
    // If the store is away, the stream waits for it, like that of a run in progress.
    const log = await this.#endedLogs.after(run, options.after).catch(undefinedIfStoreAway);
    if (log) yield log;
    else yield* this.#followUntilClosing(run, options);
  }

  async *#followUntilClosing(run: RunRecord, options: FollowLogOptions) {
    const { id, api } = run;
    const beginning = this.#beginnings.get(run);
    let { after } = options;
    const closing = api === 'chat_completions' || options.untilStopped ? this.#options.stopped : this.#options.closing;
    using linked = linkSignals([options.signal, closing]);
    try {
      if (beginning && beginning.last > after) {
        yield dropUpTo(beginning, after);
        after = beginning.last;
      }
      const isNew = beginning !== undefined;
      yield* followLog(this.#store, id, { ...options, after, isNew, signal: linked.signal });
    } catch (thrown) {
      // At shutdown a stream ends without a terminal event: clients reconnect to another instance.
      if (!closing.aborted || options.signal.aborted) throw thrown;
    }
  }
}

function undefinedIfStoreAway(thrown: unknown): undefined {
  if (!isStoreUnavailable(thrown)) throw thrown;
}
