import { sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { Claim, RunStore } from '../store/run-store.ts';
import { CancelRequested, type ExecutionResult, executeRun, HandOver, type RunDriver } from './execute-run.ts';
import type { ClaimLostError } from './log-writer.ts';

export interface ActiveRunsOptions {
  store: RunStore;
  driver: RunDriver;
  clock: Clock;
  log: Logger;
  retentionMs: number;
}

/** A claim that is not renewed for this long is free, in milliseconds. Takeover follows within 6 s of a kill. */
export const LEASE_MS = 5000;
/** Also how long a cancel may take whose news was lost. */
const RENEW_MS = 1000;
/** How long the store may be away from a running run, in milliseconds (durability: "The append"). */
const STORE_GRACE_MS = 60_000;

interface ActiveRun {
  claim: Claim;
  controller: AbortController;
  done: Promise<ExecutionResult>;
}

/** The runs that this instance drives: renews their claims, stops them for a cancel, hands them over. */
export class ActiveRuns {
  readonly #options: ActiveRunsOptions;
  readonly #runs = new Map<RunId, ActiveRun>();
  #pausing = false;

  constructor(options: ActiveRunsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Drives a claimed run until it has ended or this instance lets go of it. Never rejects for what the run does. */
  drive(claim: Claim): Promise<ExecutionResult> {
    const { id } = claim.run;
    const controller = new AbortController();
    const run: ActiveRun = { claim, controller, done: this.#execute(claim, controller) };
    this.#runs.set(id, run);
    return run.done.finally(() => {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
    });
  }

  /** Stops a run for a cancel; false where it is not driven here. */
  cancel(id: RunId): boolean {
    const run = this.#runs.get(id);
    run?.controller.abort(new CancelRequested('the run was cancelled'));
    return run !== undefined;
  }

  /** Renews a claim that may have been lost, and stops the run if it was. */
  async confirm(id: RunId): Promise<void> {
    const run = this.#runs.get(id);
    if (run) await this.#renew(run.claim, run.controller);
  }

  /** Hands every run over at its next step boundary, after `graceMs` wherever it is. */
  async handOver({ graceMs }: { graceMs: number }): Promise<void> {
    this.#pausing = true;
    const all = Promise.allSettled([...this.#runs.values()].map((run) => run.done));
    const grace = new AbortController();
    await Promise.race([all, sleep(graceMs, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
    for (const run of this.#runs.values()) run.controller.abort(new HandOver('the gateway shuts down'));
    await all;
  }

  async #execute(claim: Claim, controller: AbortController): Promise<ExecutionResult> {
    const { store, driver, clock, retentionMs } = this.#options;
    const log = this.#options.log.child({ run: claim.run.id });
    const renewal = setInterval(() => void this.#renew(claim, controller), RENEW_MS);
    try {
      const result = await executeRun({
        store,
        driver,
        claim,
        clock,
        log,
        signal: controller.signal,
        cancel: () => controller.abort(new CancelRequested('the run was cancelled')),
        lose: (reason: ClaimLostError) => controller.abort(reason),
        // A chat completion cannot be handed over: it has the whole grace time to end.
        shouldPause: () => this.#pausing && claim.run.api !== 'chat_completions',
        retentionMs,
        storeGraceMs: STORE_GRACE_MS,
      });
      if (result !== 'ended') log.info({ result, attempts: claim.attempts }, 'run left');
      return result;
    } finally {
      clearInterval(renewal);
    }
  }

  async #renew(claim: Claim, controller: AbortController): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      const renewed = await store.renew(claim.run.id, { token: claim.token, leaseMs: LEASE_MS, now: clock.now() });
      if (renewed.result === 'fenced') controller.abort(new HandOver('the claim was lost'));
      else if (renewed.cancel) controller.abort(new CancelRequested('the run was cancelled'));
    } catch (thrown) {
      log.warn({ run: claim.run.id, err: messageOf(thrown) }, 'claim could not be renewed');
    }
  }
}
