import { toSeconds } from '../../base/clock.ts';
import { GatewayError, messageOf, toGatewayError } from '../../base/errors.ts';
import { cancelledError, type ResponseObject, zeroUsage } from '../../protocol/response.ts';
import { claimsOf } from '../../research/claims/count-claims.ts';
import { finalWarnings } from '../../research/run/final-warnings.ts';
import { ResearchState } from '../../research/run/state.ts';
import { isMilestone, type ResearchOutcome } from '../../research/run/steps.ts';
import { nothingUsed, tokensOf, type Used } from '../../upstream/used.ts';
import { ResponseFold } from '../reading/response-fold.ts';
import type { ProxyAnswer } from '../runs.ts';
import { listedOf } from '../stored/listed.ts';
import { loopOf, readRequest, readResearchRequest } from '../stored/stored-request.ts';
import { parseProxyResult, parseTranscript } from '../stored/stored-transcript.ts';
import { closingStep, shownBy } from './driving/by-loop.ts';
import type { ExecutionOutcome, ExecutionResult } from './driving/run-driver.ts';
import type { ExecutorOptions } from './executor.ts';
import type { AppendTick } from './log/append-tick.ts';
import { type Beginning, FoundLog } from './log/found-log.ts';
import { LogWriter } from './log/log-writer.ts';
import { Recorder } from './log/recorder.ts';
import { endedResponse } from './log/run-end.ts';
import { regainRun } from './regain-run.ts';
import { ClaimLostError, HandOver, type RunLease } from './run-lease.ts';

/** Claims of a run without a finished step between them before it fails with `run_crashed`. */
const MAX_ATTEMPTS = 5;
/** Milliseconds that the store may be away before the claim is dropped (docs/architecture.md, "The executor"). */
const STORE_GRACE_MS = 60_000;

export interface ExecutionOptions
  extends Pick<ExecutorOptions, 'store' | 'carried' | 'driver' | 'clock' | 'log' | 'retentionMs'> {
  lease: RunLease;
  tick: AppendTick;
  /** The log so far, if this process has just created it. */
  beginning?: Beginning | undefined;
}

/** One claim of a run: from where its log and transcript stand to its end, or until it is handed over. */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #created: ResponseObject;
  readonly #state: ResearchState;
  /** What a proxy task's provider answered, once it did. */
  #proxied: ProxyAnswer | undefined;
  /** What the call of a proxy task has used so far. */
  #proxyUsed: (() => Used) | undefined;
  /** Whether an earlier owner got further in the research; claims that got nowhere are counted. */
  readonly #wasBegun: boolean;
  readonly #writer: LogWriter;
  readonly #recorder: Recorder;
  /** How this execution ended the run, once it did. */
  ended: ExecutionOutcome['ended'];

  private constructor(
    options: ExecutionOptions,
    log: {
      response: ResponseObject;
      fold: ResponseFold;
      state: ResearchState;
      proxied: ProxyAnswer | undefined;
      entries: number;
      found: FoundLog;
    },
  ) {
    const { store, lease } = options;
    this.#options = options;
    this.#created = log.response;
    this.#state = log.state;
    this.#proxied = log.proxied;
    this.#wasBegun = log.proxied === undefined && log.entries > 0;
    this.#writer = new LogWriter({
      store,
      lease,
      tick: options.tick,
      last: log.fold.last,
      fold: log.fold,
      entries: log.entries,
      graceMs: STORE_GRACE_MS,
      log: options.log,
      clock: options.clock,
      losesNothing: store.restore === undefined,
      regain: (appended) => regainRun({ store, lease, found: log.found, appended, log: options.log }),
    });
    lease.recheck = () => this.#writer.recheck();
    this.#recorder = new Recorder({
      runId: lease.run.id,
      writer: this.#writer,
      output: log.response.output,
      made: log.state.made,
      before: log.state.carriedCalls,
      first: log.state.approvedHere,
      ...shownBy(lease.run, log.response),
    });
  }

  static async open(options: ExecutionOptions): Promise<Execution> {
    const { store, carried, lease, beginning } = options;
    const fold = new ResponseFold();
    const found = new FoundLog();
    if (beginning) {
      fold.begin(beginning.response, beginning.batch);
      found.see(beginning.batch);
    } else await fold.readOn(store, lease.run.id, found.see);
    const { response } = fold;
    if (!response) throw new Error('the log has no first event');
    lease.fold = fold;
    const stored = beginning ? [] : await store.readTranscript(lease.run.id);
    if (found.isKept) found.transcript = stored;
    const [entries, last] = lease.run.kind === 'proxy' ? [[], stored.at(-1)] : [await parseTranscript(stored)];
    const research = readResearchRequest(lease.run);
    return new Execution(options, {
      response,
      fold,
      state: ResearchState.of(entries, research?.earlierSources, await carried.before(research ?? {})),
      proxied: last === undefined ? undefined : parseProxyResult(last),
      entries: stored.length,
      found,
    });
  }

  async drive(): Promise<ExecutionResult> {
    const { lease, log } = this.#options;
    const { run, signal } = lease;
    try {
      if (lease.cancelled) return await this.#end('cancelled');
      if (lease.attempts > MAX_ATTEMPTS) {
        throw new GatewayError('run_crashed', `The run was taken up ${MAX_ATTEMPTS} times without getting further.`);
      }
      if (run.api === 'chat_completions' && (lease.attempts > 1 || this.#wasBegun || lease.orphaned)) {
        throw new GatewayError('run_crashed', 'The instance that served this chat completion died.');
      }
      if (readRequest(run).generate === false) return await this.#end('completed');
      this.#noteCutStep();
      const loop = loopOf(run);
      const outcome = loop === 'proxy' ? await this.#driveProxy() : await this.#driveLoop(loop);
      if (outcome === 'paused') return await this.#release();
      return await this.#end('completed', { outcome });
    } catch (thrown) {
      if (thrown instanceof ClaimLostError || signal.reason instanceof ClaimLostError) return 'lost';
      if (lease.cancelled) return await this.#end('cancelled');
      if (signal.reason instanceof HandOver) return await this.#release();
      const error = toGatewayError(thrown);
      if (error.code === 'internal_error') log.error({ run: run.id, err: thrown }, 'run failed unexpectedly');
      return await this.#end('failed', { error });
    }
  }

  /** Reasoning that a crash cut is closed; its tokens are estimated, so that they are in the usage. */
  #noteCutStep(): void {
    const cut = closingStep(this.#options.lease.run, this.#state, this.#created.output.at(-1));
    if (!cut) return;
    if (cut.entry) this.#state.apply(cut.entry);
    this.#recorder.record(cut);
  }

  async #driveLoop(kind: 'research' | 'plain'): Promise<ResearchOutcome | 'paused'> {
    const { driver, lease } = this.#options;
    const writer = this.#writer;
    const recorder = this.#recorder;
    const steps = driver[kind]({
      run: lease.run,
      state: this.#state,
      answerSoFar: recorder.answer,
      // Steps that nothing follows from go to the log as they come, as long as it keeps up.
      live: {
        get open() {
          return !writer.congested;
        },
        take: (step) => recorder.record(step),
      },
      signal: lease.signal,
      shouldPause: () => lease.pausing,
    });
    // Where the log refuses more, the loop still has to close what it opened.
    await using _ = { [Symbol.asyncDispose]: async () => void (await steps.return('paused')) };
    for (;;) {
      const next = await steps.next();
      if (next.done) return next.value;
      recorder.record(next.value);
      // What is finished is stored before anything follows from it, and a tool is called only once the log says so: an
      // instance that was frozen and lost its claim meanwhile gets no further than this.
      if (isMilestone(next.value)) {
        this.#tellUsed();
        await writer.flush();
        await lease.confirm();
      } else if (writer.congested) await writer.ready();
    }
  }

  async #driveProxy(): Promise<ResearchOutcome> {
    const { driver, lease } = this.#options;
    // The provider's answer was stored before the last owner died: it is not paid for again.
    if (this.#proxied) return { incomplete: null };
    const { request } = readRequest(lease.run);
    if (request.kind !== 'proxy') throw new Error('the run holds no proxy request');
    const metered = (used: () => Used) => {
      this.#proxyUsed = used;
    };
    const body = await driver.proxy({ run: lease.run, request, metered, signal: lease.signal });
    const used = this.#used();
    this.#proxied = { body, used };
    // Gateways of earlier versions read the first two.
    const counted = { tokens: tokensOf(used), cost: used.cost, used };
    this.#writer.pushTranscript({ t: 'proxy_result', body, ...counted }, { progress: true });
    return { incomplete: null };
  }

  /**
   * Gives the claim back: everything up to here is stored, and the next owner goes on from there. A chat completion
   * fails instead: its connection ends with this instance (docs/architecture.md, "Promises", 6).
   */
  async #release(): Promise<ExecutionResult> {
    const { lease, log } = this.#options;
    if (lease.run.api === 'chat_completions') {
      const message = 'The gateway shut down before the answer was complete. Ask again.';
      return await this.#end('failed', { error: new GatewayError('shutting_down', message) });
    }
    try {
      this.#noteUntold();
      await this.#writer.flush();
      await lease.release();
      return 'released';
    } catch (thrown) {
      log.warn({ run: lease.run.id, err: messageOf(thrown) }, 'run could not be released, its claim runs out');
      return 'lost';
    }
  }

  async #end(
    status: 'completed' | 'failed' | 'cancelled',
    details: { outcome?: ResearchOutcome; error?: GatewayError } = {},
  ): Promise<ExecutionResult> {
    try {
      // A cancel that was accepted while the last events were on their way had them refused with the terminal event.
      if ((await this.#writeEnd(status, details)) === 'cancelled') await this.#writeEnd('cancelled', {});
      return 'ended';
    } catch (thrown) {
      if (thrown instanceof ClaimLostError) return 'lost';
      throw thrown;
    }
  }

  async #writeEnd(
    status: 'completed' | 'failed' | 'cancelled',
    { outcome, error: thrown }: { outcome?: ResearchOutcome; error?: GatewayError },
  ): Promise<'ended' | 'cancelled'> {
    const { clock, lease, retentionMs } = this.#options;
    const errorObject = status === 'cancelled' ? cancelledError() : (thrown?.toObject() ?? null);
    this.#noteUntold();
    this.#tellUsed();
    const { answer } = this.#recorder;
    const kind = loopOf(lease.run);
    const request = readResearchRequest(lease.run);
    const claims = kind === 'research' ? await claimsOf(answer, { request, state: this.#state }) : null;
    // From here to the terminal event nothing waits: all of it stands in one append, written or refused as one.
    this.#writer.beginEnd();
    const restore = this.#recorder.checkpoint();
    // Research that ended early has its answer all the same.
    const isCut = kind === 'plain' && status === 'completed' && (outcome?.incomplete ?? null) !== null;
    if (errorObject) this.#recorder.closeOpenItems(errorObject);
    else this.#recorder.endMessage(isCut ? 'incomplete' : 'completed');
    // A clock that was set back meanwhile makes no run that ended before it began.
    const at = Math.max(clock.now(), lease.run.startedAt ?? 0);
    const state = this.#state;
    const ending = { ...answer, claims, completed: outcome !== undefined, request, state };
    const response = endedResponse(this.#created, {
      output: this.#recorder.output,
      status: isCut ? 'incomplete' : status,
      error: errorObject,
      incomplete: outcome?.incomplete ?? null,
      plan: state.plan ?? null,
      warnings: kind === 'research' ? finalWarnings(ending) : [...state.warnings],
      claims,
      usage: kind === 'proxy' ? zeroUsage() : state.usage,
      startedAt: lease.run.startedAt === null ? null : toSeconds(lease.run.startedAt),
      completedAt: toSeconds(at),
    });
    const type = isCut ? 'response.incomplete' : status === 'completed' ? 'response.completed' : 'response.failed';
    const written = await this.#writer.end(
      { type, response },
      { status, at, retainMs: readRequest(lease.run).keepMs ?? retentionMs, listed: listedOf(response) },
    );
    if (written === 'cancelled') {
      restore();
      return written;
    }
    const [used, error] = [this.#used(), errorObject?.code];
    this.ended = { status, used, error };
    const [tokens, cost, incomplete] = [tokensOf(used), used.cost || undefined, outcome?.incomplete ?? undefined];
    this.#options.log.info({ status, error, incomplete, tokens, cost, attempts: lease.attempts }, 'run ended');
    return written;
  }

  /** Turns that were left by a cancel or a hand-over were sent all the same. */
  #noteUntold(): void {
    const entry = this.#options.lease.run.kind === 'proxy' ? undefined : this.#state.spending.untold();
    if (!entry) return;
    this.#state.apply(entry);
    this.#recorder.record({ type: 'note', entry });
  }

  #tellUsed(): void {
    this.#options.driver.used?.(this.#options.lease.run, this.#used());
  }

  /** What the run has used, for limits and metrics: also where a part of it has no price. */
  #used(): Used {
    if (this.#options.lease.run.kind !== 'proxy') return usedBy(this.#state);
    return this.#proxied?.used ?? this.#proxyUsed?.() ?? nothingUsed();
  }
}

/** What a run has used so far, also where a part of it has no price. */
function usedBy({ usage, cost }: Pick<ResearchState, 'usage' | 'cost'>): Used {
  return {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: usage.output_tokens_details.reasoning_tokens,
    cost: cost > 0 ? cost : (usage.cost?.total ?? 0),
  };
}
