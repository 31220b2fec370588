import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, FencingToken, RunRecord, RunStore, SubmissionKey } from '../../store/run-store.ts';
import type { ResponseFold } from '../reading/response-fold.ts';

/** How long a claim lasts without renewal, in milliseconds. Takeover follows within 6 s of a kill. */
export const LEASE_MS = 4000;

/** How many times a run may be claimed without finishing a step before it fails with `run_crashed`. */
export const MAX_ATTEMPTS = 5;

/** The reason for stopping an execution so that another instance can continue the run. */
export class HandOver extends Error {
  override readonly name = 'HandOver';
}

/** The claim on a run was lost, or the store stayed away: nothing more can be written, another owner continues. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/**
 * This process's claim on a run, from the claim to the end or the hand-over: who wants it to stop, for what reason, and
 * whether it may still write. `signal` aborts once, with the first reason:
 * held -> cancelled | handed over (`HandOver`) | lost (`ClaimLostError`).
 */
export class RunLease {
  readonly run: RunRecord;
  /** See `Claim`. */
  readonly attempts: number;
  /** The response as stored so far; set once the log was read. */
  fold: ResponseFold | undefined;
  /** Checks whether the run is still ours after a renewal was refused; set once the log was read. */
  recheck: (() => Promise<boolean>) | undefined;
  /** Whether the run's only reader is gone with the process that created it: nothing is spent on it. */
  orphaned = false;
  /** See `Claim`. */
  readonly keys: readonly SubmissionKey[];
  /** Changes if the run is claimed anew after a failover lost the claim. */
  token: FencingToken;
  #offered: Claim | undefined;
  readonly #store: Pick<RunStore, 'renew' | 'release'>;
  readonly #log: Logger;
  readonly #onRenewalFailed: ((thrown: unknown) => void) | undefined;
  readonly #controller = new AbortController();
  /** When the claim was last known to hold, by this process's monotonic clock, in milliseconds. */
  #confirmedAt = performance.now();
  #cancelled = false;
  #pausing = false;
  #leaving = false;

  /** `onRenewalFailed` is told why the claim could not be renewed. */
  constructor(
    claim: Claim,
    parts: { store: Pick<RunStore, 'renew' | 'release'>; log: Logger; onRenewalFailed?(thrown: unknown): void },
  ) {
    this.run = claim.run;
    this.token = claim.token;
    this.keys = claim.keys ?? [];
    this.attempts = claim.attempts;
    this.#store = parts.store;
    this.#log = parts.log;
    this.#onRenewalFailed = parts.onRenewalFailed;
    if (claim.run.cancelRequested) this.cancel();
  }

  /**
   * Called when the store gives this run to this same process again: a failover lost the claim, and perhaps events that
   * the owner still has.
   */
  async offer(claim: Claim): Promise<void> {
    this.#offered = claim;
    await this.recheck?.();
    const { id } = this.run;
    if (this.takeOffered()) await this.#store.release(id, { token: claim.token });
  }

  /** Takes the claim that was offered, if any. */
  takeOffered(): Claim | undefined {
    const offered = this.#offered;
    this.#offered = undefined;
    return offered;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the run may only end as cancelled. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Whether the run is to be handed over at its next step boundary. */
  get pausing(): boolean {
    return this.#pausing;
  }

  /** Whether this process is giving the run up, so that nothing waits for a store that is away. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** Stops the work at once, because a cancel was accepted or is about to be. */
  cancel(): void {
    this.#cancelled = true;
    this.#controller.abort(new Error('the run was cancelled'));
  }

  /** Has the run handed over at its next step boundary. */
  pause(): void {
    this.#pausing = true;
  }

  /** Hands the run over wherever it is. */
  handOver(): void {
    this.#leaving = true;
    this.#controller.abort(new HandOver('the gateway shuts down'));
  }

  /** Stops the work because nothing can be written any more. */
  lose(reason: ClaimLostError): void {
    this.#controller.abort(reason);
  }

  /**
   * Call before anything that costs money: a process that was frozen, or cut off from the store, may have lost its claim
   * and still receive the answer to an append made before that.
   * @throws the signal's reason if the claim was lost.
   */
  async confirm(): Promise<void> {
    if (performance.now() - this.#confirmedAt > LEASE_MS / 2) await this.renew();
    this.signal.throwIfAborted();
  }

  /** Renews the claim, and stops the run if it was lost or cancelled. A store that is away changes nothing. */
  async renew(): Promise<void> {
    const { id } = this.run;
    const sentAt = performance.now();
    try {
      const renewed = await this.#store.renew(id, { token: this.token, leaseMs: LEASE_MS });
      if (renewed.result === 'ok') {
        this.#confirmedAt = sentAt;
        if (renewed.cancel) this.cancel();
      } else if (!(await this.recheck?.())) {
        this.#controller.abort(new HandOver('the claim was lost'));
      }
    } catch (thrown) {
      this.#onRenewalFailed?.(thrown);
      this.#log.warn({ run: id, err: messageOf(thrown) }, 'claim could not be renewed');
    }
  }

  /** Releases the claim: the run is free at once. */
  async release(): Promise<void> {
    await this.#store.release(this.run.id, { token: this.token });
  }
}
