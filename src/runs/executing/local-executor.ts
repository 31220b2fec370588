import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { Executor } from './executor.ts';

/** How often the store is asked for free runs without a notification, in milliseconds. */
const POLL_MS = 1000;

/**
 * The executor for an embedded store: it asks the store for free runs and claims them, up to `maxConcurrent`:
 * idle -> (woken, or a second passed) -> waiting for room and claiming until nothing is free -> idle.
 */
export class LocalExecutor extends Executor {
  #wake = Promise.withResolvers<void>();
  #claiming: Promise<void> | undefined;
  #changes: Disposable | undefined;

  async start(): Promise<void> {
    this.#changes = this.options.store.onChange((change) => {
      if (change.type === 'cancel') this.cancel(change.id);
      else this.wake(change.id);
    });
    this.#claiming = this.#claimLoop();
  }

  wake(_id: RunId): void {
    this.#wake.resolve();
  }

  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.stopping.abort(new Error('the gateway shuts down'));
    this.#wake.resolve();
    this.#changes?.[Symbol.dispose]();
    await this.#claiming;
    await this.handOver({ graceMs });
  }

  async #claimLoop(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers<void>();
      try {
        await this.#claimAll();
      } catch (thrown) {
        this.outage.noteFailure(thrown);
        this.options.log.warn({ err: messageOf(thrown) }, 'runs cannot be claimed now');
      }
      const { promise, resolve } = this.#wake;
      const timer = setTimeout(resolve, POLL_MS);
      if (!signal.aborted) await promise;
      clearTimeout(timer);
    }
  }

  async #claimAll(): Promise<void> {
    while (await this.#room()) {
      using _ = this.holdPlace();
      const claim = await this.claimNext({ queued: !this.outage.isOver });
      if (!claim) return;
      this.capacity.noteWait(this.options.clock.now() - claim.run.createdAt);
      void this.drive(claim);
    }
  }

  /** Waits for room for a queued run; false if no run is queued, or the gateway stops. */
  async #room(): Promise<boolean> {
    const { signal } = this.stopping;
    if (signal.aborted) return false;
    if (this.capacity.tryStartInTurn(this.active)) return true;
    // Wait in line only for a run that exists: a turn that is not used is lost to others.
    const free = await this.options.store.findClaimable({ limit: 1 });
    if (free.length === 0) return false;
    return await this.capacity.waitToStart(Number.POSITIVE_INFINITY, () => this.active, { signal });
  }
}
