import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { ActiveRuns, type Driving, type Reservation } from './active-runs.ts';
import { Capacity } from './capacity.ts';
import type { Executor, ExecutorOptions } from './executor.ts';

/** How often free runs are looked for without being told, in milliseconds. */
const LOOK_MS = 1000;
/** The same while runs are held back. */
const HELD_BACK_LOOK_MS = 50;

/**
 * The executor of a single instance: it asks the store for free runs. It claims whatever is offered, up to
 * `maxConcurrent`: idle -> (woken, or a second passed) -> claiming until nothing is free or all slots are taken -> idle.
 */
export class LocalExecutor implements Executor {
  readonly #options: ExecutorOptions;
  readonly #runs: ActiveRuns;
  readonly #capacity: Capacity;
  readonly #stopping = new AbortController();
  #wake = Promise.withResolvers<void>();
  #claiming: Promise<void> | undefined;
  #changes: Disposable | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#runs = new ActiveRuns(options);
    this.#capacity = new Capacity(options);
  }

  async start(): Promise<void> {
    this.#changes = this.#options.store.onChange((change) => {
      if (change.type === 'cancel') this.cancel(change.id);
      else this.wake(change.id);
    });
    this.#claiming = this.#claimLoop();
  }

  get active(): number {
    return this.#runs.size;
  }

  get waiting(): number {
    return this.#runs.waiting;
  }

  get overloaded(): boolean {
    return this.#capacity.overloaded;
  }

  reserve({ later = false } = {}): Reservation | undefined {
    const driving: Driving = (_id, done) => void done.finally(() => this.#wake.resolve());
    return later ? this.#runs.reserveLater(this.#capacity, driving) : this.#runs.reserve(this.#capacity, driving);
  }

  wake(_id: RunId): void {
    this.#wake.resolve();
  }

  cancel(id: RunId): boolean {
    return this.#runs.cancel(id);
  }

  takeOver(id: RunId, options: { force: boolean }) {
    return this.#runs.takeOver(id, options);
  }

  driven(id: RunId) {
    return this.#runs.get(id);
  }

  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.#stopping.abort(new Error('the gateway shuts down'));
    this.#wake.resolve();
    this.#changes?.[Symbol.dispose]();
    await this.#claiming;
    await this.#runs.handOver({ graceMs });
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
      const { promise, resolve } = this.#wake;
      const look = setTimeout(resolve, this.#capacity.heldBack ? HELD_BACK_LOOK_MS : LOOK_MS);
      if (!signal.aborted) await promise;
      clearTimeout(look);
    }
  }

  async #claimAll(): Promise<void> {
    while (!this.#stopping.signal.aborted && this.#capacity.start(this.#runs.size)) {
      using _ = this.#runs.hold();
      const claim = await this.#runs.claimNext();
      if (!claim) return;
      if (claim.attempts === 1) this.#capacity.served(this.#options.clock.now() - claim.run.createdAt);
      void this.#runs.drive(claim).finally(() => this.#wake.resolve());
    }
  }
}
