import { linkSignals } from '../base/abort.ts';
import { GatewayError, shuttingDown } from '../base/errors.ts';
import { ID_PREFIX, parseItemId, parsePublicId, publicId, type RunId } from '../base/ids.ts';
import { runInTurn, yieldToEventLoop } from '../base/load/event-loop.ts';
import type { Logger } from '../base/logger.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { ResponseObject } from '../protocol/response.ts';
import { isStoreUnavailable } from '../store/failure.ts';
import { dropUpTo } from '../store/frames.ts';
import type { LogBatch, RunApi, RunRecord, RunStore, RunSummary } from '../store/run-store.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';
import { Cancels } from './executing/cancels.ts';
import { taskJson } from './projections/task.ts';
import { timelineOf } from './projections/timeline.ts';
import { EndedLogs } from './reading/ended-logs.ts';
import { type FollowLogOptions, followLog } from './reading/follow.ts';
import { listRuns, noteDeletedRun } from './reading/list-runs.ts';
import { namedItems } from './reading/named-items.ts';
import { isHiddenRun, isOpen, isReadableThrough } from './reading/readable.ts';
import type { ResponseFold } from './reading/response-fold.ts';
import { ResponseJsonCache } from './reading/response-json-cache.ts';
import { retryWhileStoreAway } from './reading/retry-while-store-away.ts';
import { Snapshots } from './reading/snapshots.ts';
import type { Caller, RunListQuery, Runs, Submission, SubmissionResult, TurnPromptQuery } from './runs.ts';
import { readPlainRequest, readResearchRequest, readSettings } from './stored/stored-request.ts';
import { parseProxyResult, readTranscript } from './stored/stored-transcript.ts';
import { conversationUpTo, followUpContext, pendingApprovals } from './submitting/history.ts';
import { resumeResearch, runOfCalls } from './submitting/resume-research.ts';
import { Submissions, type SubmissionsOptions } from './submitting/submissions.ts';

export interface RunsOptions extends Omit<SubmissionsOptions, 'cancels'> {
  entries: EntryStore;
  log: Logger;
  /** Aborts when the gateway begins to shut down: streams and waits end. */
  closing: AbortSignal;
  /** Aborts when this process no longer drives any run: until then chat completions continue, as nobody can take them over. */
  stopped: AbortSignal;
}

/** Runs over a store and an executor. */
export function createRuns(options: RunsOptions): Runs {
  return new StoredRuns(options);
}

class StoredRuns implements Runs {
  readonly #options: RunsOptions;
  readonly #store: RunStore;
  readonly #endedLogs: EndedLogs;
  readonly #snapshots: Snapshots;
  readonly #jsonCache = new ResponseJsonCache();
  readonly #cancels: Cancels;
  readonly #submissions: Submissions;
  /** The first events of runs submitted here, which saves their first readers a read of the store. */
  readonly #beginnings = new WeakMap<RunRecord, LogBatch>();
  readonly executing = () => this.#options.executor.active;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#endedLogs = new EndedLogs(options.store);
    this.#snapshots = new Snapshots(options.store);
    this.#cancels = new Cancels(options);
    this.#submissions = new Submissions({ ...options, cancels: this.#cancels });
  }

  async submit(submission: Submission): Promise<SubmissionResult> {
    if (this.#options.closing.aborted) throw shuttingDown();
    const submitted = await this.#submissions.submit(submission);
    if (submitted.beginning) this.#beginnings.set(submitted.run, submitted.beginning);
    return submitted;
  }

  async find(caller: Caller, api: 'responses' | 'async', id: string): Promise<RunRecord> {
    const runId = parsePublicId(api, id);
    const run = runId && (await this.#findOwned(caller, runId));
    if (!run || !isReadableThrough(run, api)) throw notFound(id, api);
    return run;
  }

  async list(
    caller: Caller,
    api: 'responses' | 'async',
    query: RunListQuery,
  ): Promise<{ runs: RunSummary[]; hasMore: boolean }> {
    const find = (id: RunId) => this.#findOwned(caller, id);
    return await listRuns(this.#options, query, { user: caller.user, api, find });
  }

  follow(run: RunRecord, options: FollowLogOptions): AsyncIterable<LogBatch> {
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

  async timeline(run: RunRecord) {
    return timelineOf(run, run.kind === 'proxy' ? [] : await runInTurn(() => this.#store.readTranscript(run.id)));
  }

  async turnPrompt(run: RunRecord, query: TurnPromptQuery) {
    const request = run.kind === 'research' ? readResearchRequest(run) : undefined;
    const entries = request ? await readTranscript(this.#store, run.id) : [];
    const before = request ? await this.#options.carried.entriesBefore(request) : [];
    // Imported late, so that starting the gateway does not load the research loop.
    const { turnPromptOf } = await import('./projections/turn-prompt.ts');
    const prompt = await runInTurn(() => turnPromptOf(run, { entries, before }, query));
    return { id: publicId('responses', run.id), ...prompt };
  }

  async waitForEnd(run: RunRecord, options: { signal: AbortSignal }): Promise<ResponseObject> {
    let current = run;
    if (isOpen(run)) {
      let ended = false;
      for await (const batch of this.follow(run, { after: run.last, signal: options.signal })) ended = batch.end;
      if (!ended && this.#options.closing.aborted) throw shuttingDown();
      current = await retryWhileStoreAway(() => this.#reload(run), options.signal);
    }
    return await retryWhileStoreAway(() => this.response(current), options.signal);
  }

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

  async cancel(run: RunRecord): Promise<ResponseObject> {
    if (!isOpen(run)) return await this.response(run);
    if ((await this.#cancels.cancel(run)) === 'missing') throw notFound(publicId('responses', run.id));
    return await this.response(await this.#reload(run));
  }

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

  async delete(run: RunRecord): Promise<void> {
    if (isOpen(run)) await this.cancel(run);
    await this.#options.conversations.saveOutcome(run);
    await noteDeletedRun(this.#options, run, this.#options.clock.now());
    await this.#store.delete(run.id);
    await this.#options.carried.runRemoved(run);
    this.#submissions.deleted();
  }

  async *findItems(caller: Caller, ids: readonly string[]) {
    for (const [id, itemIds] of Map.groupBy(ids, (itemId) => parseItemId(itemId)?.run)) {
      const run = id && (await this.#findOwned(caller, id));
      if (run && run.kind !== 'proxy') yield* namedItems(run, itemIds, () => this.response(run));
    }
  }

  async history(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const context = await followUpContext(this.#options, run, (await this.response(run)).output_text);
    // The transcript of a run that was removed meanwhile reads as empty.
    await this.#reload(run);
    return context;
  }

  async resumeResearch(caller: Caller, { previous, ...answered }: Parameters<Runs['resumeResearch']>[1]) {
    const resume = async (run: RunRecord, param?: string) => {
      const output = async () => (await this.response(run)).output;
      return await resumeResearch(this.#options, run, { ...answered, param, output, isThere: () => this.#reload(run) });
    };
    if (previous !== undefined) return await resume(await this.#previous(caller, previous), 'input');
    const id = runOfCalls(answered.outputs.keys());
    const run = id === undefined ? undefined : await this.#findOwned(caller, id);
    return run?.status === 'completed' ? await resume(run) : undefined;
  }

  async settings(caller: Caller, previousResponseId: string) {
    return readSettings(await this.#previous(caller, previousResponseId));
  }

  async conversation(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const messages = await conversationUpTo(this.#store, run, () => this.response(run));
    const output = async () => (await this.response(run)).output;
    return {
      messages,
      pendingApprovals: await pendingApprovals(run, { output, messages }),
      settings: readSettings(run),
    };
  }

  /** The run that `previous_response_id` names. */
  async #previous(caller: Caller, previousResponseId: string): Promise<RunRecord> {
    const id = parsePublicId('responses', previousResponseId);
    const run = id && (await this.#findOwned(caller, id));
    const param = { param: 'previous_response_id' };
    if (!run || !isReadableThrough(run, 'responses')) {
      throw new GatewayError('not_found', `There is no response ${previousResponseId}.`, param);
    }
    if (run.status !== 'completed') {
      throw new GatewayError(
        'invalid_parameter',
        `previous_response_id: ${previousResponseId} is not completed.`,
        param,
      );
    }
    return run;
  }

  countOpen() {
    return this.#store.countOpen();
  }

  idOf(run: Pick<RunRecord, 'id'>, api: RunApi): string {
    return publicId(api, run.id);
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
    if (run?.user !== caller.user) return undefined;
    return isHiddenRun(run, caller) ? undefined : run;
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

/** How much of an unknown id an error message repeats, in characters. */
const MAX_ID = 80;

/** For ids that are unknown or belong to another user; clients cannot tell which. */
function notFound(id: string, api?: 'responses' | 'async'): GatewayError {
  const hint = api === undefined || id.startsWith(ID_PREFIX[api]) ? '' : ` Ids begin with ${ID_PREFIX[api]} here.`;
  return new GatewayError('not_found', `Nothing that this key may read has the id ${id.slice(0, MAX_ID)}.${hint}`);
}
