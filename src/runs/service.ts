import { linkSignals } from '../base/abort.ts';
import { fieldError, GatewayError, shuttingDown } from '../base/errors.ts';
import { ID_PREFIX, parseItemId, parsePublicId, publicId, type RunId } from '../base/ids.ts';
import { inItsTurn, yieldToEventLoop } from '../base/load/event-loop.ts';
import type { Logger } from '../base/logger.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { ResponseObject } from '../protocol/response.ts';
import { isStoreAway } from '../store/failure.ts';
import { dropUpTo } from '../store/frames.ts';
import type { LogBatch, RunApi, RunRecord, RunStatus, RunStore, RunSummary } from '../store/run-store.ts';
import { Cancels } from './executing/cancels.ts';
import { taskJson } from './projections/task.ts';
import { timelineOf } from './projections/timeline.ts';
import { EndedLogs } from './reading/ended-logs.ts';
import { type FollowLogOptions, followLog } from './reading/follow.ts';
import { namedItems } from './reading/named-items.ts';
import { isHiddenRun, isOpen, readableThrough } from './reading/readable.ts';
import type { ResponseFold } from './reading/response-fold.ts';
import { ResponseTexts } from './reading/response-texts.ts';
import { retryWhileStoreAway } from './reading/retry-while-store-away.ts';
import { Snapshots } from './reading/snapshots.ts';
import type { Caller, RunListQuery, Runs, Submission, Submitted, TurnPromptQuery } from './runs.ts';
import { readPlainRequest, readResearchRequest, readSettings } from './stored/stored-request.ts';
import { parseProxyResult, readTranscript } from './stored/stored-transcript.ts';
import { goOn, runOfCalls } from './submitting/go-on.ts';
import { askedIn, conversationUpTo, takenOver } from './submitting/history.ts';
import { Submissions, type SubmissionsOptions } from './submitting/submissions.ts';

export interface RunsOptions extends Omit<SubmissionsOptions, 'cancels'> {
  log: Logger;
  /** Aborts when the gateway begins to shut down: streams end, waits are given up. */
  closing: AbortSignal;
  /** Aborts when it drives no run any more: until then chat completions go on, because nobody can take them over. */
  stopped: AbortSignal;
}

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
  readonly #snapshots: Snapshots;
  readonly #texts = new ResponseTexts();
  readonly #cancels: Cancels;
  readonly #submissions: Submissions;
  /** How the logs of runs begin that were submitted here, for their first readers. */
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

  async submit(submission: Submission): Promise<Submitted> {
    if (this.#options.closing.aborted) throw shuttingDown();
    const submitted = await this.#submissions.submit(submission);
    if (submitted.beginning) this.#beginnings.set(submitted.run, submitted.beginning);
    return submitted;
  }

  async find(caller: Caller, api: 'responses' | 'async', id: string): Promise<RunRecord> {
    const runId = parsePublicId(api, id);
    const run = runId && (await this.#owned(caller, runId));
    if (!run || !readableThrough(run, api)) throw notFound(id, api);
    return run;
  }

  async list(
    caller: Caller,
    api: 'responses' | 'async',
    query: RunListQuery,
  ): Promise<{ runs: RunSummary[]; hasMore: boolean }> {
    const after = await this.#cursor(caller, api, { param: 'after', id: query.after });
    const before = await this.#cursor(caller, api, { param: 'before', id: query.before });
    const { limit, order, model } = query;
    const status = query.status && STATUS_OF_QUERY[query.status];
    const page = await this.#store.list({ user: caller.user, api, limit, order, after, before, status, model });
    // Nothing lies behind a run that was removed meanwhile: that is not the end of the list.
    if (page.runs.length === 0) {
      await this.#cursor(caller, api, { param: 'after', id: query.after });
      await this.#cursor(caller, api, { param: 'before', id: query.before });
    }
    return page;
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
      const last = await inItsTurn(() => this.#store.readLast(run.id));
      const event = last && (await inItsTurn(() => decodeFrames(last.frames).at(-1)));
      if (event && 'response' in event) return event.response;
      throw await this.#unread(run);
    }
    const fold = await this.#ownFold(run);
    const response = fold ? fold.response : await this.#snapshots.of(run);
    if (!response) throw await this.#unread(run);
    if (response.status !== 'in_progress' || run.startedAt === null) return response;
    return { ...response, started_at: Math.floor(run.startedAt / 1000) };
  }

  async responseJson(run: RunRecord): Promise<Buffer> {
    const make = async () => Buffer.from(JSON.stringify(await this.response(run)));
    if (!isOpen(run)) return await this.#texts.get(run.id, 'ended', make);
    const fold = await this.#ownFold(run);
    return fold ? await this.#texts.get(run.id, `${fold.last} ${run.startedAt}`, make) : await make();
  }

  async timeline(run: RunRecord) {
    return timelineOf(run, run.kind === 'proxy' ? [] : await inItsTurn(() => this.#store.readTranscript(run.id)));
  }

  async turnPrompt(run: RunRecord, query: TurnPromptQuery) {
    const request = run.kind === 'research' ? readResearchRequest(run) : undefined;
    const entries = request ? await readTranscript(this.#store, run.id) : [];
    const before = request ? await this.#options.carried.before(request) : [];
    // A start does not load the research loop.
    const { turnPromptOf } = await import('./projections/turn-prompt.ts');
    const prompt = await inItsTurn(() => turnPromptOf(run, { entries, before }, query));
    return { id: publicId('responses', run.id), ...prompt };
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
    if (run.kind === 'research' || run.status !== 'completed') {
      return taskJson(run, { response, isPlain: readPlainRequest(run) !== undefined });
    }
    const entry = (await inItsTurn(() => this.#store.readTranscript(run.id))).at(-1);
    if (entry === undefined) throw await this.#unread(run);
    return taskJson(run, { response, proxyBody: parseProxyResult(entry).body });
  }

  async cancel(run: RunRecord): Promise<ResponseObject> {
    if (!isOpen(run)) return await this.response(run);
    if ((await this.#cancels.cancel(run)) === 'missing') throw notFound(publicId('responses', run.id));
    return await this.response(await this.#again(run));
  }

  async cancelById(caller: Caller, api: 'responses' | 'async', id: string): Promise<ResponseObject> {
    const runId = parsePublicId(api, id);
    const driven = runId === undefined ? undefined : this.#options.executor.leaseOf(runId)?.run;
    if (driven?.user === caller.user && readableThrough(driven, api)) return await this.cancel(driven);
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
    await this.#options.conversations.keepOf(run);
    await this.#store.delete(run.id);
    await this.#options.carried.left(run);
    this.#submissions.deleted();
  }

  async *findItems(caller: Caller, ids: readonly string[]) {
    for (const [id, named] of Map.groupBy(ids, (one) => parseItemId(one)?.run)) {
      const run = id && (await this.#owned(caller, id));
      if (run && run.kind !== 'proxy') yield* namedItems(run, named, () => this.response(run));
    }
  }

  async history(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const taken = await takenOver(this.#options, run, (await this.response(run)).output_text);
    // A transcript that was removed meanwhile reads as an empty one.
    await this.#again(run);
    return taken;
  }

  async goOn(caller: Caller, { previous, ...answered }: Parameters<Runs['goOn']>[1]) {
    const go = async (run: RunRecord, param?: string) => {
      const output = async () => (await this.response(run)).output;
      return await goOn(this.#options, run, { ...answered, param, output, isThere: () => this.#again(run) });
    };
    if (previous !== undefined) return await go(await this.#previous(caller, previous), 'input');
    const named = runOfCalls(answered.outputs.keys());
    const run = named === undefined ? undefined : await this.#owned(caller, named);
    return run?.status === 'completed' ? await go(run) : undefined;
  }

  async settings(caller: Caller, previousResponseId: string) {
    return readSettings(await this.#previous(caller, previousResponseId));
  }

  async conversation(caller: Caller, previousResponseId: string) {
    const run = await this.#previous(caller, previousResponseId);
    const messages = await conversationUpTo(this.#store, run, () => this.response(run));
    const output = async () => (await this.response(run)).output;
    return { messages, asked: await askedIn(run, { output, messages }), settings: readSettings(run) };
  }

  /** The run of a response that another one follows. */
  async #previous(caller: Caller, previousResponseId: string): Promise<RunRecord> {
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
    return run;
  }

  countOpen() {
    return this.#store.countOpen();
  }

  idOf(run: Pick<RunRecord, 'id'>, api: RunApi): string {
    return publicId(api, run.id);
  }

  /** The run that a cursor of a list names. */
  async #cursor(
    caller: Caller,
    api: 'responses' | 'async',
    { param, id }: { param: string; id: string | undefined },
  ): Promise<RunId | undefined> {
    if (id === undefined) return undefined;
    const runId = parsePublicId(api, id);
    const run = runId === undefined ? undefined : await this.#owned(caller, runId);
    if (run?.api === api) return runId;
    throw fieldError('invalid_parameter', param, `there is no ${id.slice(0, 80)} in this list.`);
  }

  /** The fold of a run that is driven here, unless this instance lost the claim and does not know yet. */
  async #ownFold(run: RunRecord): Promise<ResponseFold | undefined> {
    const fold = this.#options.executor.leaseOf(run.id)?.fold;
    // What was stored a moment ago is not in the fold before the writer has heard of it.
    if (fold && fold.last < run.last) await yieldToEventLoop();
    return fold && fold.last >= run.last ? fold : undefined;
  }

  /** The run, if it is this user's and not hidden behind its end: every look-up by id goes through here (promise 7). */
  async #owned(caller: Caller, id: RunId): Promise<RunRecord | undefined> {
    const run = await this.#store.get(id);
    if (run?.user !== caller.user) return undefined;
    return isHiddenRun(run, caller) ? undefined : run;
  }

  /** @throws GatewayError `not_found` where it was removed meanwhile. */
  async #again(run: RunRecord): Promise<RunRecord> {
    const now = await this.#store.get(run.id);
    if (!now) throw notFound(publicId('responses', run.id));
    return now;
  }

  /** Why a run whose record was found has no log or transcript. 404 means unknown: only a run that was removed is. */
  async #unread(run: RunRecord): Promise<GatewayError> {
    await this.#again(run);
    return new GatewayError('store_unavailable', 'This run cannot be read now. Try again.', { retryAfterMs: 1000 });
  }

  /** An ended run: its whole log from memory shared by its readers, or a very long one from the store. */
  async *#replay(run: RunRecord, options: FollowLogOptions): AsyncGenerator<LogBatch> {
    if (options.after >= run.last) return;
    // Where the store is away, its stream waits for it like that of a run in progress.
    const log = await this.#endedLogs.after(run, options.after).catch(undefinedWhereAway);
    if (log) yield log;
    else yield* this.#followUntilClosing(run, options);
  }

  async *#followUntilClosing(run: RunRecord, options: FollowLogOptions) {
    const { id, api } = run;
    const known = this.#beginnings.get(run);
    let { after } = options;
    const closing = api === 'chat_completions' || options.untilStopped ? this.#options.stopped : this.#options.closing;
    using linked = linkSignals([options.signal, closing]);
    try {
      if (known && known.last > after) {
        yield dropUpTo(known, after);
        after = known.last;
      }
      yield* followLog(this.#store, id, { ...options, after, signal: linked.signal });
    } catch (thrown) {
      // At shutdown a stream ends in order, without a terminal event: clients go on elsewhere.
      if (!closing.aborted || options.signal.aborted) throw thrown;
    }
  }
}

function undefinedWhereAway(thrown: unknown): undefined {
  if (!isStoreAway(thrown)) throw thrown;
}

/** How much of an invalid id is shown, in characters. */
const LONGEST_ID = 80;

/** Unknown, or somebody else's: the two are not told apart. */
function notFound(id: string, api?: 'responses' | 'async'): GatewayError {
  const hint = api === undefined || id.startsWith(ID_PREFIX[api]) ? '' : ` Ids begin with ${ID_PREFIX[api]} here.`;
  return new GatewayError('not_found', `Nothing that this key may read has the id ${id.slice(0, LONGEST_ID)}.${hint}`);
}
