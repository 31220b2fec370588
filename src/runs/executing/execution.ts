import { toSeconds } from '../../base/clock.ts';
import { GatewayError, messageOf, toGatewayError } from '../../base/errors.ts';
import { LARGE_BYTES, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { answerPart } from '../../protocol/items.ts';
import { cancelledError, type ResponseObject, zeroUsage } from '../../protocol/response.ts';
import { countRunClaims } from '../../research/claims/count-claims.ts';
import { finalWarnings } from '../../research/run/final-warnings.ts';
import { ResearchState } from '../../research/run/state.ts';
import { isMilestone, type ResearchOutcome } from '../../research/run/steps.ts';
import type { SpentEntry, TranscriptEntry } from '../../research/run/transcript.ts';
import { noUsage } from '../../upstream/turn.ts';
import { emptyTotals, totalTokens, type UsageTotals } from '../../upstream/usage-totals.ts';
import { ResponseFold } from '../reading/response-fold.ts';
import { listedOf } from '../stored/listed.ts';
import { loopOf, readRequest, readResearchRequest } from '../stored/stored-request.ts';
import { parseProxyResult, parseTranscript } from '../stored/stored-transcript.ts';
import type { ProxyAnswer } from '../submission.ts';
import { closingStep, interruptedTurns } from './driving/interrupted-item.ts';
import type { ExecutionResult, RunEnd } from './driving/run-driver.ts';
import type { ExecutorOptions } from './executor-options.ts';
import type { AppendTick } from './log/append-tick.ts';
import { type Beginning, LogAtClaim } from './log/log-at-claim.ts';
import { LogWriter } from './log/log-writer.ts';
import { presentationOf } from './log/presentation.ts';
import { Recorder } from './log/recorder.ts';
import { regainRun } from './regain-run.ts';
import { ClaimLostError, HandOver, MAX_ATTEMPTS, type RunLease } from './run-lease.ts';

/** How long the store may be away before the claim is dropped, in milliseconds (docs/architecture.md, "The executor"). */
const STORE_GRACE_MS = 60_000;

export interface ExecutionOptions
  extends Pick<ExecutorOptions, 'store' | 'carried' | 'driver' | 'clock' | 'log' | 'retentionMs'> {
  lease: RunLease;
  tick: AppendTick;
  /** The log so far, if this process has just created the run. */
  beginning?: Beginning | undefined;
}

/** Drives a run under one claim: from where its log and transcript stand until it ends or is handed over. */
export class Execution {
  readonly #options: ExecutionOptions;
  readonly #created: ResponseObject;
  readonly #state: ResearchState;
  /** How many entries its transcript had when it was claimed. */
  readonly #stored: number;
  /** The provider's answer to a proxy task, once it is there. */
  #proxyAnswer: ProxyAnswer | undefined;
  /** Reads how much the call of a proxy task has used so far. */
  #readProxyUsage: (() => UsageTotals) | undefined;
  readonly #writer: LogWriter;
  readonly #recorder: Recorder;
  /** How this execution ended the run, once it did. */
  ended: RunEnd | undefined;

  private constructor(options: ExecutionOptions, opened: Awaited<ReturnType<typeof restore>>) {
    const { store, lease } = options;
    this.#options = options;
    this.#created = opened.response;
    this.#state = opened.state;
    this.#stored = opened.entries;
    this.#proxyAnswer = opened.proxied;
    this.#writer = new LogWriter({
      store,
      lease,
      tick: options.tick,
      last: opened.fold.last,
      fold: opened.fold,
      entries: opened.entries,
      graceMs: STORE_GRACE_MS,
      log: options.log,
      clock: options.clock,
      isDurable: store.restore === undefined,
      regain: (appended) => regainRun({ store, lease, logAtClaim: opened.logAtClaim, appended, log: options.log }),
    });
    lease.recheck = () => this.#writer.recheck();
    this.#recorder = new Recorder({
      runId: lease.run.id,
      writer: this.#writer,
      output: opened.response.output,
      calls: opened.state.calls,
      earlierCalls: opened.state.earlierCalls,
      approvedCalls: opened.state.approvedHere,
      ...presentationOf(lease.run, opened.response),
    });
  }

  static async open(options: ExecutionOptions): Promise<Execution> {
    return new Execution(options, await restore(options));
  }

  async drive(): Promise<ExecutionResult> {
    const { lease, driver, log } = this.#options;
    const { run, signal } = lease;
    try {
      const pricing = driver.pricing?.(run);
      if (pricing) this.#state.setPricing(pricing);
      this.#closeInterruptedStep();
      if (lease.cancelled) return await this.#end('cancelled');
      if (lease.attempts > MAX_ATTEMPTS) {
        throw new GatewayError('run_crashed', `The run was taken up ${MAX_ATTEMPTS} times without getting further.`);
      }
      if (lease.orphaned) {
        throw new GatewayError('run_crashed', 'The instance that served this chat completion died.');
      }
      if (run.request.length > LARGE_BYTES) await yieldToEventLoop();
      if (readRequest(run).generate === false) return await this.#end('completed');
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

  /** Closes reasoning that a crash interrupted, and charges the interrupted turns by estimate. */
  #closeInterruptedStep(): void {
    const { run, attempts } = this.#options.lease;
    if (run.kind === 'proxy') return;
    const step = closingStep(run, this.#state, this.#created.output.at(-1));
    if (step?.entry) this.#state.apply(step.entry);
    if (step) this.#recorder.record(step);
    if (step?.entry) return;
    const turns = interruptedTurns(run, this.#state, { attempts, stored: this.#stored });
    for (const entry of turns) this.#note(entry);
  }

  async #driveLoop(kind: 'research' | 'plain'): Promise<ResearchOutcome | 'paused'> {
    const { driver, lease } = this.#options;
    const writer = this.#writer;
    const recorder = this.#recorder;
    const steps = driver[kind]({
      run: lease.run,
      state: this.#state,
      answerSoFar: recorder.answer,
      // Deltas go to the log as they arrive, for as long as it keeps up.
      live: {
        get isOpen() {
          return !writer.congested;
        },
        take: (step) => recorder.record(step),
      },
      signal: lease.signal,
      shouldPause: () => lease.pausing,
    });
    // If the log takes no more, the loop still has to close what it opened.
    await using _ = { [Symbol.asyncDispose]: async () => void (await steps.return('paused')) };
    for (;;) {
      const next = await steps.next();
      this.#recordWarnings();
      if (next.done) return next.value;
      recorder.record(next.value);
      // A finished step is stored before anything builds on it, and a tool is called only after the log has it: a
      // process that was frozen and has lost its claim meanwhile stops here.
      if (isMilestone(next.value)) {
        this.#reportUsage();
        await writer.flush();
        await lease.confirm();
      } else if (writer.congested) await writer.ready();
    }
  }

  #recordWarnings(): void {
    const { newWarnings } = this.#state;
    if (newWarnings.length > 0) this.#note({ t: 'warned', warnings: newWarnings.splice(0) });
  }

  /** Adds an entry to the transcript that clients do not see. */
  #note(entry: TranscriptEntry): void {
    this.#state.apply(entry);
    this.#recorder.record({ type: 'note', entry });
  }

  async #driveProxy(): Promise<ResearchOutcome> {
    const { driver, lease } = this.#options;
    // The provider's answer was stored before the last owner died: do not pay for it again.
    if (this.#proxyAnswer) return { incomplete: null };
    const { request } = readRequest(lease.run);
    if (request.kind !== 'proxy') throw new Error('the run holds no proxy request');
    const setUsageReader = (readUsage: () => UsageTotals) => {
      this.#readProxyUsage = readUsage;
    };
    const body = await driver.proxy({ run: lease.run, request, setUsageReader, signal: lease.signal });
    const used = this.#used();
    this.#proxyAnswer = { body, used };
    this.#writer.pushTranscript({ t: 'proxy_result', body, used }, { progress: true });
    return { incomplete: null };
  }

  /**
   * Releases the claim: everything up to here is stored, and the next owner continues from there. A chat completion
   * fails instead, because its connection ends with this process (docs/architecture.md, "Promises", 6).
   */
  async #release(): Promise<ExecutionResult> {
    const { lease, log } = this.#options;
    if (lease.run.api === 'chat_completions') {
      const message = 'The gateway shut down before the answer was complete. Ask again.';
      return await this.#end('failed', { error: new GatewayError('shutting_down', message) });
    }
    try {
      const unreported = this.#unreportedTurns();
      if (lease.run.kind !== 'proxy') {
        this.#note({ ...(unreported ?? { t: 'spent', usage: noUsage() }), handedOver: true });
      }
      await this.#writer.flush();
      await lease.release();
      return 'released';
    } catch (thrown) {
      log.warn({ run: lease.run.id, err: messageOf(thrown) }, 'run could not be released; its claim expires');
      return 'lost';
    }
  }

  async #end(
    status: 'completed' | 'failed' | 'cancelled',
    details: { outcome?: ResearchOutcome; error?: GatewayError } = {},
  ): Promise<ExecutionResult> {
    try {
      // If a cancel was accepted meanwhile, the store refused the whole batch of the end: end as cancelled instead.
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
    const errorObject = status === 'cancelled' ? cancelledError() : (thrown?.toStored() ?? null);
    const unreported = this.#unreportedTurns();
    if (unreported) this.#note(unreported);
    this.#reportUsage();
    const { answer } = this.#recorder;
    const kind = loopOf(lease.run);
    const request = readResearchRequest(lease.run);
    const claims = kind === 'research' ? await countRunClaims(answer, { request, state: this.#state }) : null;
    // Nothing is awaited from here to the terminal event: all of it goes in one append, written or refused as a whole.
    this.#writer.beginEnd();
    const restore = this.#recorder.checkpoint();
    // Research that ended early still has an answer, so it counts as completed.
    const isCut = kind === 'plain' && status === 'completed' && (outcome?.incomplete ?? null) !== null;
    if (errorObject) this.#recorder.closeOpenItems(errorObject);
    else this.#recorder.endMessage(isCut ? 'incomplete' : 'completed');
    // Even if the clock was set back meanwhile, a run does not end before it starts.
    const endedAt = Math.max(clock.now(), lease.run.startedAt ?? 0);
    const state = this.#state;
    const warned = { ...answer, claims, completed: outcome !== undefined, request, state };
    const { output } = this.#recorder;
    const response: ResponseObject = {
      ...this.#created,
      started_at: lease.run.startedAt === null ? null : toSeconds(lease.run.startedAt),
      completed_at: toSeconds(endedAt),
      status: isCut ? 'incomplete' : status,
      output,
      output_text: answerPart(output.findLast((item) => item.type === 'message'))?.text ?? '',
      usage: kind === 'proxy' ? zeroUsage() : state.finalUsage,
      error: errorObject,
      incomplete_details: outcome?.incomplete ? { reason: outcome.incomplete } : null,
      plan: state.plan ?? null,
      warnings: kind === 'research' ? finalWarnings(warned) : [...state.warnings],
      claims,
    };
    const type = isCut ? 'response.incomplete' : status === 'completed' ? 'response.completed' : 'response.failed';
    const written = await this.#writer.end(
      { type, response },
      { status, at: endedAt, retainMs: readRequest(lease.run).keepMs ?? retentionMs, listed: listedOf(response) },
    );
    if (written === 'cancelled') {
      restore();
      return written;
    }
    const [used, error] = [this.#used(), errorObject?.code];
    this.ended = { status, used, error };
    const [tokens, cost, incomplete] = [totalTokens(used), used.cost || undefined, outcome?.incomplete ?? undefined];
    this.#options.log.info({ status, error, incomplete, tokens, cost, attempts: lease.attempts }, 'run ended');
    return written;
  }

  /** A turn that was cut off by a cancel or a hand-over still reached the provider, so it is charged. */
  #unreportedTurns(): SpentEntry | undefined {
    return this.#options.lease.run.kind === 'proxy' ? undefined : this.#state.spending.unreported();
  }

  #reportUsage(): void {
    this.#options.driver.onUsage?.(this.#options.lease.run, this.#used());
  }

  /** What the run has used so far, for limits and metrics, whether or not all of it has a price. */
  #used(): UsageTotals {
    if (this.#options.lease.run.kind !== 'proxy') return researchUsage(this.#state);
    return this.#proxyAnswer?.used ?? this.#readProxyUsage?.() ?? emptyTotals();
  }
}

/** Reads log and transcript back, as they stand when the run is claimed. */
async function restore({ store, carried, lease, beginning }: ExecutionOptions) {
  const fold = new ResponseFold();
  lease.fold = fold;
  const logAtClaim = new LogAtClaim();
  if (beginning) {
    fold.begin(beginning.response, beginning.batch);
    logAtClaim.add(beginning.batch);
  } else await fold.catchUp(store, lease.run.id, logAtClaim.add);
  const { response } = fold;
  if (!response) throw new Error('the log has no first event');
  const stored = beginning ? [] : await store.readTranscript(lease.run.id);
  if (logAtClaim.isComplete) logAtClaim.transcript = stored;
  const [entries, last] = lease.run.kind === 'proxy' ? [[], stored.at(-1)] : [await parseTranscript(stored)];
  const research = readResearchRequest(lease.run);
  return {
    response,
    fold,
    state: ResearchState.of(entries, research?.earlierSources, await carried.entriesBefore(research ?? {})),
    proxied: last === undefined ? undefined : parseProxyResult(last),
    entries: stored.length,
    logAtClaim,
  };
}

/** What a research run has used. If part of it has no price, the cost is that of the rest. */
function researchUsage({ usage, cost }: Pick<ResearchState, 'usage' | 'cost'>): UsageTotals {
  return {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: usage.output_tokens_details.reasoning_tokens,
    cost: cost > 0 ? cost : (usage.cost?.total ?? 0),
  };
}
