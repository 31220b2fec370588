import { linkSignals, sleep, TimeoutError } from '../../base/abort.ts';
import { GatewayError, messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { isStoreAway } from '../../store/failure.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { followLog } from '../reading/follow.ts';
import type { Executor } from './executor.ts';

export interface CancelsOptions {
  store: RunStore;
  executor: Executor;
  log: Logger;
  /** Aborts when the gateway begins to shut down: what is kept is given up. */
  closing: AbortSignal;
}

/** How long a cancel waits for the executor before it takes the run over, in milliseconds. */
const CANCEL_WAIT_MS = 1500;
/** Cancels kept while the store is away; more are refused. */
const MAX_KEPT = 1000;
/** Pauses between tries to tell the store of them, in milliseconds. */
const RETRY_MS = { first: 100, most: 1000 } as const;

/**
 * Cancels of runs, whoever drives them. The work in this process stops first; then the store gets it, again and again
 * while it is away: a cancel that was asked for is carried out (docs/api.md, "The other Responses endpoints").
 */
export class Cancels {
  readonly #options: CancelsOptions;
  /** Run ids with the user that asked, where it is not known yet whose they are. */
  readonly #kept = new Map<RunId, { user: string | undefined }>();
  #telling: Promise<void> | undefined;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  /**
   * Cancels a run and waits for its end, bounded. An ended run stays as it is.
   * @throws GatewayError `store_unavailable` where the store is away: the cancel is kept. `not_found`.
   */
  async cancel(run: Pick<RunRecord, 'id' | 'last'>): Promise<'ended' | 'missing'> {
    const { store, executor } = this.#options;
    executor.cancel(run.id);
    try {
      const requested = await store.requestCancel(run.id);
      if (requested.result === 'accepted') await this.#end(run);
      return requested.result === 'missing' ? 'missing' : 'ended';
    } catch (thrown) {
      throw this.keepWhileAway(run.id, thrown);
    }
  }

  /** Keeps a cancel that failed because the store is away; what its client is answered. */
  keepWhileAway(id: RunId, thrown: unknown, options: { user?: string } = {}): unknown {
    return isStoreAway(thrown) && this.keep(id, options) ? willBeCancelled(thrown) : thrown;
  }

  /**
   * Keeps a cancel that the store cannot take now. `user`: only if the run is this user's. False where too many
   * are kept.
   */
  keep(id: RunId, { user }: { user?: string } = {}): boolean {
    const { executor, log, closing } = this.#options;
    if (closing.aborted) return false;
    if (user === undefined) executor.cancel(id);
    if (this.#kept.size >= MAX_KEPT && !this.#kept.has(id)) {
      log.warn({ run: id }, 'too many cancels wait for the store, one was not kept');
      return false;
    }
    this.#kept.set(id, { user });
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = undefined;
    });
    return true;
  }

  /** Tells the store until it has heard of every cancel. */
  async #tell(): Promise<void> {
    const { closing, log } = this.#options;
    for (let pause: number = RETRY_MS.first; this.#kept.size > 0; pause = Math.min(pause * 2, RETRY_MS.most)) {
      await sleep(pause, { signal: closing }).catch(() => {});
      if (closing.aborted) {
        log.warn({ cancels: this.#kept.size }, 'the store was not told of cancels before the shutdown');
        return this.#kept.clear();
      }
      for (const [id, { user }] of [...this.#kept]) {
        try {
          await this.#carryOut(id, user);
        } catch (thrown) {
          if (isStoreAway(thrown)) break;
          log.warn({ run: id, err: messageOf(thrown) }, 'a kept cancel failed');
        }
        this.#kept.delete(id);
      }
    }
  }

  async #carryOut(id: RunId, user: string | undefined): Promise<void> {
    const { store, executor, log } = this.#options;
    const run = await store.get(id);
    if (!run || run.endedAt !== null || (user !== undefined && run.user !== user)) return;
    executor.cancel(id);
    const { result } = await store.requestCancel(id);
    if (result !== 'accepted') return;
    log.info({ run: id }, 'the store was told of a cancel');
    // An owner hears of it by itself; the end of a run that nobody drives is not waited for here.
    if (!executor.driven(id)) void executor.takeOver(id, { force: false }).catch(() => {});
  }

  /** After an accepted cancel: its executor ends the run; if there is none, or it is frozen, this instance does. */
  async #end(run: Pick<RunRecord, 'id' | 'last'>): Promise<void> {
    const { store, executor } = this.#options;
    if (!executor.driven(run.id) && (await executor.takeOver(run.id, { force: false }))) return;
    using limit = linkSignals([], { what: 'cancel', timeoutMs: CANCEL_WAIT_MS });
    try {
      for await (const batch of followLog(store, run.id, { after: run.last, signal: limit.signal }))
        if (batch.end) return;
      return;
    } catch (thrown) {
      if (!(thrown instanceof TimeoutError)) throw thrown;
    }
    await executor.takeOver(run.id, { force: true });
  }
}

/** The answer to a cancel that is kept. */
function willBeCancelled(cause: GatewayError): GatewayError {
  const message = 'The store cannot be reached. The work was stopped; the run ends as cancelled once it can.';
  return new GatewayError('store_unavailable', message, { retryAfterMs: cause.retryAfterMs ?? 1000, cause });
}
