import { linkSignals, sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { Claim, RunStore } from '../store/run-store.ts';
import { CancelRequested, executeRun, HandOver, type RunDriver } from './execute-run.ts';
import type { ClaimLostError } from './log-writer.ts';

/** Who executes runs: claims them, drives them, renews the claims, and lets go in order. */
export interface Executor {
  start(): Promise<void>;
  /** A run was submitted or became free. */
  wake(id: RunId): void;
  /** A cancel was accepted; true where this executor drives the run and stops it now. */
  cancel(id: RunId): boolean;
  readonly active: number;
  /** Takes no new runs; hands running ones over at their next step boundary, after `graceMs` wherever they are. */
  stop(options: { graceMs: number }): Promise<void>;
}

export interface ExecutorOptions {
  store: RunStore;
  driver: RunDriver;
  clock: Clock;
  log: Logger;
  /** Names this instance in claims. */
  owner: string;
  maxConcurrent: number;
  retentionMs: number;
}

/** A claim that is not renewed for this long is free, in milliseconds. Takeover follows within 6 s of a kill. */
export const LEASE_MS = 5000;
const RENEW_MS = 1500;
/** How often free runs are looked for without being told, in milliseconds. */
const LOOK_MS = 1000;
/** How long the store may be away from a running run, in milliseconds (durability: "The append"). */
const STORE_GRACE_MS = 60_000;

interface ActiveRun {
  controller: AbortController;
  done: Promise<unknown>;
}

/**
 * The executor inside the gateway's process. It claims whatever the store offers, up to `maxConcurrent`:
 * idle -> (woken, or a second passed) -> claiming until nothing is free or all slots are taken -> idle.
 */
export class LocalExecutor implements Executor {
  readonly #options: ExecutorOptions;
  readonly #active = new Map<RunId, ActiveRun>();
  readonly #stopping = new AbortController();
  #wake = Promise.withResolvers<void>();
  #pausing = false;
  #claiming: Promise<void> | undefined;
  #changes: Disposable | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#changes = this.#options.store.onChange((change) => {
      if (change.type === 'cancel') this.cancel(change.id);
      else this.wake(change.id);
    });
    this.#claiming = this.#claimLoop();
  }

  get active(): number {
    return this.#active.size;
  }

  wake(_id: RunId): void {
    this.#wake.resolve();
  }

  cancel(id: RunId): boolean {
    const run = this.#active.get(id);
    run?.controller.abort(new CancelRequested('the run was cancelled'));
    return run !== undefined;
  }

  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.#pausing = true;
    this.#stopping.abort(new HandOver('the gateway shuts down'));
    this.#changes?.[Symbol.dispose]();
    await this.#claiming;
    const all = Promise.allSettled([...this.#active.values()].map((run) => run.done));
    const grace = new AbortController();
    await Promise.race([all, sleep(graceMs, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
    for (const run of this.#active.values()) run.controller.abort(new HandOver('the gateway shuts down'));
    await all;
  }

  async #claimLoop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers<void>();
      try {
        await this.#claimAll();
      } catch (thrown) {
        this.#options.log.warn({ err: messageOf(thrown) }, 'runs cannot be claimed now');
      }
      using pause = linkSignals([signal]);
      await Promise.race([this.#wake.promise, sleep(LOOK_MS, { signal: pause.signal }).catch(() => {})]);
      pause.abort();
    }
  }

  async #claimAll(): Promise<void> {
    const { store, clock, owner, maxConcurrent } = this.#options;
    while (this.#active.size < maxConcurrent && !this.#stopping.signal.aborted) {
      const claim = await store.claimNext({ owner, leaseMs: LEASE_MS, now: clock.now() });
      if (!claim) return;
      this.#drive(claim);
    }
  }

  #drive(claim: Claim): void {
    const { id } = claim.run;
    const controller = new AbortController();
    const run: ActiveRun = { controller, done: Promise.resolve() };
    this.#active.set(id, run);
    run.done = this.#execute(claim, controller).finally(() => {
      this.#active.delete(id);
      this.#wake.resolve();
    });
  }

  async #execute(claim: Claim, controller: AbortController): Promise<void> {
    const { store, driver, clock, retentionMs } = this.#options;
    const log = this.#options.log.child({ run: claim.run.id });
    const lose = (reason: ClaimLostError) => controller.abort(reason);
    const cancel = () => controller.abort(new CancelRequested('the run was cancelled'));
    const renewal = setInterval(() => void this.#renew(claim, controller), RENEW_MS);
    try {
      const result = await executeRun({
        store,
        driver,
        claim,
        clock,
        log,
        signal: controller.signal,
        cancel,
        lose,
        shouldPause: () => this.#pausing,
        retentionMs,
        storeGraceMs: STORE_GRACE_MS,
      });
      log.info({ result, attempts: claim.attempts }, 'run left');
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
