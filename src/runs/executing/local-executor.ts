import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { ActiveRuns } from './active-runs.ts';

/** How often free runs are looked for without being told, in milliseconds. */
const LOOK_MS = 1000;

/**
 * The executor of a single instance: it asks the store for free runs. It claims whatever is offered, up to
 * `maxConcurrent`: idle -> (woken, or a second passed) -> waiting for room and claiming until nothing is free -> idle.
 */
export class LocalExecutor extends ActiveRuns {
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
        this.outage.failed(thrown);
        this.options.log.warn({ err: messageOf(thrown) }, 'runs cannot be claimed now');
      }
      const { promise, resolve } = this.#wake;
      const look = setTimeout(resolve, LOOK_MS);
      if (!signal.aborted) await promise;
      clearTimeout(look);
    }
  }

  async #claimAll(): Promise<void> {
    while (await this.#room()) {
      using _ = this.hold();
      const claim = await this.claimNext({ queued: !this.outage.isOver });
      if (!claim) return;
      this.capacity.served(this.options.clock.now() - claim.run.createdAt);
      void this.drive(claim);
    }
  }

  /** Waits for room for a queued run; false if there is none to be had, or the gateway stops. */
  async #room(): Promise<boolean> {
    const { signal } = this.stopping;
    if (signal.aborted) return false;
    if (this.capacity.startFirst(this.active)) return true;
    // A turn that nobody takes is one that others do not get.
    const free = await this.options.store.claimable({ limit: 1 });
    if (free.length === 0) return false;
    return await this.capacity.startWithin(Number.POSITIVE_INFINITY, () => this.active, { signal });
  }
}
