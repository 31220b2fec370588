import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, FencingToken, RunRecord, RunStore, SubmissionKey } from '../../store/run-store.ts';
import type { ResponseFold } from '../reading/response-fold.ts';

/** A claim that is not renewed for this long is free, in milliseconds. Takeover follows within 6 s of a kill. */
export const LEASE_MS = 4000;

/** Why an execution is stopped: another instance goes on. */
export class HandOver extends Error {
  override readonly name = 'HandOver';
}

/** The claim on a run was lost, or the store stayed away: nothing more can be written, another owner goes on. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/**
 * This instance's hold on a run that it claimed, from the claim to the end or the hand-over: who asks it to stop, for
 * what reason, and whether it may still write. `signal` aborts once, with the first reason:
 * held -> cancelled | handed over (`HandOver`) | lost (`ClaimLostError`).
 */
export class RunLease {
  readonly run: RunRecord;
  /** See `Claim`. */
  readonly attempts: number;
  /** What is stored of the response, once the log was read. */
  fold: ResponseFold | undefined;
  /** Whether the run is still this instance's where a renewal was refused; set once the log was read. */
  recheck: (() => Promise<boolean>) | undefined;
  /** Whether the run's only reader went with the process that stored it: nothing is paid for it. */
  orphaned = false;
  /** See `Claim`. */
  readonly keys: readonly SubmissionKey[];
  /** Another one than before where the run was claimed anew, because a failover had lost the claim. */
  token: FencingToken;
  #offered: Claim | undefined;
  readonly #store: Pick<RunStore, 'renew' | 'release'>;
  readonly #log: Logger;
  readonly #failed: ((thrown: unknown) => void) | undefined;
  readonly #controller = new AbortController();
  /** When the claim was last known to hold, by this process' own monotonic clock, in milliseconds. */
  #heldAt = performance.now();
  #cancelled = false;
  #pausing = false;
  #leaving = false;

  /** `failed` hears why the claim could not be renewed. */
  constructor(
    claim: Claim,
    parts: { store: Pick<RunStore, 'renew' | 'release'>; log: Logger; failed?(thrown: unknown): void },
  ) {
    this.run = claim.run;
    this.token = claim.token;
    this.keys = claim.keys ?? [];
    this.attempts = claim.attempts;
    this.#store = parts.store;
    this.#log = parts.log;
    this.#failed = parts.failed;
    if (claim.run.cancelRequested) this.cancel();
  }

  /**
   * The store gave the run to this very process again: a failover lost the claim, and with it perhaps events that the
   * owner still has.
   */
  async offer(claim: Claim): Promise<void> {
    this.#offered = claim;
    await this.recheck?.();
    const { id } = this.run;
    if (this.takeOffered()) await this.#store.release(id, { token: claim.token });
  }

  /** The claim that was offered and not taken yet. */
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

  /** Whether this instance lets go of the run: then nothing waits for a store that is away. */
  get leaving(): boolean {
    return this.#leaving;
  }

  /** A cancel was accepted, or is about to be: the work stops at once. */
  cancel(): void {
    this.#cancelled = true;
    this.#controller.abort(new Error('the run was cancelled'));
  }

  /** Asks to hand the run over at its next step boundary. */
  pause(): void {
    this.#pausing = true;
  }

  /** Hands the run over wherever it is. */
  handOver(): void {
    this.#leaving = true;
    this.#controller.abort(new HandOver('the gateway shuts down'));
  }

  /** Nothing can be written any more. */
  lose(reason: ClaimLostError): void {
    this.#controller.abort(reason);
  }

  /**
   * To be called before anything that costs: a process that stood still, or that the store was cut off from, may find
   * its claim run out, and the answer of an append that was made before still waiting for it.
   * @throws the signal's reason where the claim was lost.
   */
  async confirm(): Promise<void> {
    if (performance.now() - this.#heldAt > LEASE_MS / 2) await this.renew();
    this.signal.throwIfAborted();
  }

  /** Renews the claim, and stops the run where it was lost or cancelled. A store that is away changes nothing. */
  async renew(): Promise<void> {
    const { id } = this.run;
    const asked = performance.now();
    try {
      const renewed = await this.#store.renew(id, { token: this.token, leaseMs: LEASE_MS });
      if (renewed.result === 'ok') {
        this.#heldAt = asked;
        if (renewed.cancel) this.cancel();
      } else if (!(await this.recheck?.())) {
        this.#controller.abort(new HandOver('the claim was lost'));
      }
    } catch (thrown) {
      this.#failed?.(thrown);
      this.#log.warn({ run: id, err: messageOf(thrown) }, 'claim could not be renewed');
    }
  }

  /** Gives the claim back: the run is free at once. */
  async release(): Promise<void> {
    await this.#store.release(this.run.id, { token: this.token });
  }
}
