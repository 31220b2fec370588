import { linkSignals, sleep, TimeoutError } from '../../base/abort.ts';
import { GatewayError, messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { isStoreUnavailable } from '../../store/failure.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { followLog } from '../reading/follow.ts';
import type { Executor } from './executor.ts';

export interface CancelsOptions {
  store: RunStore;
  executor: Executor;
  log: Logger;
  /** Aborts when the gateway begins to shut down: deferred cancels are dropped. */
  closing: AbortSignal;
}

/** How long a cancel waits for the executor before it takes the run over, in milliseconds. */
const CANCEL_WAIT_MS = 1500;
/** How many cancels are deferred while the store is away; more are refused. */
const MAX_DEFERRED = 1000;
/** Pauses between attempts to deliver them to the store, in milliseconds. */
const RETRY_MS = { first: 100, max: 1000 } as const;

/**
 * Cancels runs, whichever process drives them. Work in this process stops first, then the cancel goes to the store, with
 * retries while it is away: a cancel that was requested is carried out (docs/api.md, "The other Responses endpoints").
 */
export class Cancels {
  readonly #options: CancelsOptions;
  /** Cancels to deliver, by run and user: if the run's owner is not known yet, anybody may ask for a cancel of it. */
  readonly #deferred = new Map<string, { id: RunId; user: string | undefined }>();
  #delivering: Promise<void> | undefined;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  /**
   * Cancels a run and waits for its end, for a bounded time. An ended run stays as it is.
   * @throws GatewayError `store_unavailable` if the store is away: the cancel is deferred. `not_found`.
   */
  async cancel(run: Pick<RunRecord, 'id' | 'last'>): Promise<'ended' | 'missing'> {
    const { store, executor } = this.#options;
    executor.cancel(run.id);
    try {
      const requested = await store.requestCancel(run.id);
      if (requested.result === 'accepted') await this.#end(run);
      return requested.result === 'missing' ? 'missing' : 'ended';
    } catch (thrown) {
      throw this.deferWhileAway(run.id, thrown);
    }
  }

  /** Defers a cancel that failed because the store is away; returns the error to answer its client with. */
  deferWhileAway(id: RunId, thrown: unknown, options: { user?: string } = {}): unknown {
    return isStoreUnavailable(thrown) && this.defer(id, options) ? willBeCancelled(thrown) : thrown;
  }

  /**
   * Defers a cancel that the store cannot take now. `user`: cancel only if the run is this user's. Returns false if too
   * many are deferred.
   */
  defer(id: RunId, { user }: { user?: string } = {}): boolean {
    const { executor, log, closing } = this.#options;
    if (closing.aborted) return false;
    if (user === undefined) executor.cancel(id);
    const name = `${id} ${user ?? ''}`;
    if (this.#deferred.size >= MAX_DEFERRED && !this.#deferred.has(name)) {
      log.warn({ run: id }, 'too many cancels wait for the store; one was dropped');
      return false;
    }
    this.#deferred.set(name, { id, user });
    this.#delivering ??= this.#deliver();
    return true;
  }

  /** Retries until the store has every deferred cancel. */
  async #deliver(): Promise<void> {
    const { closing, log } = this.#options;
    for (let pause: number = RETRY_MS.first; this.#deferred.size > 0; pause = Math.min(pause * 2, RETRY_MS.max)) {
      await sleep(pause, { signal: closing }).catch(() => {});
      if (closing.aborted) {
        log.warn({ cancels: this.#deferred.size }, 'cancels did not reach the store before the shutdown');
        return this.#deferred.clear();
      }
      for (const [name, { id, user }] of [...this.#deferred]) {
        try {
          await this.#carryOut(id, user);
        } catch (thrown) {
          if (isStoreUnavailable(thrown)) break;
          log.warn({ run: id, err: messageOf(thrown) }, 'a deferred cancel failed');
        }
        this.#deferred.delete(name);
      }
    }
    // Not in a `finally` of the caller: a cancel that is deferred before that runs would wait for nobody.
    this.#delivering = undefined;
  }

  async #carryOut(id: RunId, user: string | undefined): Promise<void> {
    const { store, executor, log } = this.#options;
    const run = await store.get(id);
    if (!run || run.endedAt !== null || (user !== undefined && run.user !== user)) return;
    executor.cancel(id);
    const { result } = await store.requestCancel(id);
    if (result !== 'accepted') return;
    log.info({ run: id }, 'a deferred cancel reached the store');
    // A live owner is notified by the store. A run that nobody drives is ended here, without waiting for it.
    if (!executor.leaseOf(id)) void executor.takeOver(id, { force: false }).catch(() => {});
  }

  /** After an accepted cancel, the run's executor ends it; if there is none, or it is frozen, this process does. */
  async #end(run: Pick<RunRecord, 'id' | 'last'>): Promise<void> {
    const { store, executor } = this.#options;
    if (!executor.leaseOf(run.id) && (await executor.takeOver(run.id, { force: false }))) return;
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

/** The answer to a deferred cancel. */
function willBeCancelled(cause: GatewayError): GatewayError {
  const message = 'The store cannot be reached. The work was stopped; the run ends as cancelled once it can.';
  return new GatewayError('store_unavailable', message, { retryAfterMs: cause.retryAfterMs ?? 1000, cause });
}
