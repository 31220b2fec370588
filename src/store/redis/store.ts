import { withTimeout } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { storeUnavailable } from '../failure.ts';
import { isDamage } from '../frames.ts';
import { listPage } from '../list-page.ts';
import type {
  AppendBatch,
  Claim,
  FencingToken,
  KeyHolder,
  ListQuery,
  LogBatch,
  LogHandlers,
  LostRun,
  NewRun,
  RunApi,
  RunChange,
  RunStore,
  SubmissionKeyName,
} from '../run-store.ts';
import { checkAppend } from '../run-store-checks.ts';
import { redisReason } from './connection/failure.ts';
import { RedisPart, type RedisParts } from './part.ts';
import { cancelReply, parseFacts } from './replies.ts';
import type { Channels } from './runs/channels.ts';
import { RedisClaims } from './runs/claims.ts';
import { RedisIndexes } from './runs/indexes.ts';
import { RedisLists } from './runs/lists.ts';
import { RedisLog } from './runs/log.ts';
import { RedisRecords } from './runs/records.ts';
import type { Replicas } from './runs/replicas.ts';
import { RedisSubmissionKeys } from './runs/submission-keys.ts';
import { WaitingRuns } from './runs/waiting.ts';
import { SCRIPTS } from './scripts.ts';

/** How often a log is read while events are hidden. Making them visible once is enough, unless a failover undoes it. */
const MAX_READS = 3;
/** Expired runs that are removed in parallel: few enough not to delay other commands. */
const REMOVAL_BATCH = 20;
const CHECK_TIMEOUT_MS = 900;
const PROBE_TTL_MS = 60_000;

/** The run store over Redis, for any number of instances. Each step that must be atomic is one script. */
export class RedisRunStore extends RedisPart implements RunStore {
  readonly #channels: Channels;
  readonly #lists: RedisLists;
  readonly #indexes: RedisIndexes;
  readonly #submissions: RedisSubmissionKeys;
  readonly #waiting: WaitingRuns;
  readonly #records: RedisRecords;
  readonly #claims: RedisClaims;
  readonly #log: RedisLog;
  readonly #replicas: Replicas | undefined;
  readonly #logger: Logger;
  readonly #onClose: () => Promise<void>;

  /**
   * Takes over both connections; `onClose` releases what belongs to them. `clock` is the clock of the store. With
   * `replicas`, writes become visible only once replicas have them.
   */
  constructor(
    parts: RedisParts,
    options: {
      channels: Channels;
      log: Logger;
      clock: Clock;
      replicas: Replicas | undefined;
      onClose(): Promise<void>;
    },
  ) {
    super(parts);
    this.#channels = options.channels;
    this.#logger = options.log;
    this.#replicas = options.replicas;
    this.#onClose = options.onClose;
    const timedParts = { ...parts, clock: options.clock };
    const lists = new RedisLists({ ...timedParts, log: options.log });
    const indexes = new RedisIndexes({ ...parts, lists });
    const waiting = new WaitingRuns(parts);
    const submissions = new RedisSubmissionKeys(parts);
    const records = new RedisRecords({ ...parts, indexes, lists, submissions, waiting, log: options.log });
    this.#lists = lists;
    this.#indexes = indexes;
    this.#waiting = waiting;
    this.#submissions = submissions;
    this.#records = records;
    this.#claims = new RedisClaims({ ...timedParts, records, indexes, waiting });
    this.#log = new RedisLog(parts);
  }

  async create(run: NewRun): ReturnType<RunStore['create']> {
    const result = await this.#records.create(run);
    if (typeof result === 'object' && 'taken' in result) {
      await this.#waitForRepeat(result.taken, run.keys);
      return result;
    }
    if (typeof result === 'object') {
      if (run.claim) this.#channels.markHeld(run.id, run.claim.leaseMs);
      // Until the indexes have the claim they list the run as queued, and whoever tries to claim it finds it held.
      const indexed = this.#updateIndexes(this.#indexes.markClaimed(run.id, result.until));
      if (this.#replicas) await indexed;
    }
    // Also if it exists: an earlier attempt may have stored it without waiting for replicas.
    await this.#makeNewVisible(run, { last: run.frameCount, keys: run.keys });
    return typeof result === 'object' ? { token: result.token } : result;
  }

  /** Waits until replicas have a new run and all that leads to it; then makes it visible up to the event `last`. */
  async #makeNewVisible(
    run: Pick<NewRun, 'id' | 'user' | 'api' | 'claim'>,
    { last, keys = [] }: { last: number; keys: readonly SubmissionKeyName[] | undefined },
  ): Promise<void> {
    if (!this.#replicas) return;
    await this.#replicas.waitForNewRun({ ...run, keys });
    await this.#log.makeVisible(run.id, { last });
  }

  /** Waits until replicas have the whole run, then makes it visible. `wait` may wait for more than the run itself. */
  async #makeAllVisible(
    id: RunId,
    wait = (replicas: Replicas): Promise<unknown> => replicas.waitForRun(id),
  ): Promise<void> {
    if (!this.#replicas) return;
    await wait(this.#replicas);
    await this.#log.makeVisible(id);
  }

  async findKey(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined> {
    const holder = await this.#submissions.find(keys);
    if (holder) await this.#waitForRepeat(holder, keys);
    return holder;
  }

  /** What a repeat returns must not be lost either, and the earlier attempt may not have waited for replicas. */
  async #waitForRepeat({ run, runId }: KeyHolder, keys: readonly SubmissionKeyName[] | undefined): Promise<void> {
    if (run) await this.#makeNewVisible(run, { last: run.last, keys });
    else await this.waitForReplicas(runId);
  }

  get(id: RunId): ReturnType<RunStore['get']> {
    return this.#records.get(id);
  }

  async list(query: ListQuery) {
    if (query.status || query.model !== undefined) await this.#lists.repair(query);
    const onMisplaced = (id: RunId) => this.#records.indexEnd(id);
    return await listPage(query, this.#lists.indexesOf(query, onMisplaced));
  }

  countOpen() {
    return this.#indexes.count();
  }

  countQueued(keyId: string): Promise<number> {
    return this.#waiting.count(keyId);
  }

  async findClaimable({ limit, abandoned = false }: { limit: number; abandoned?: boolean }): Promise<RunId[]> {
    if (abandoned) return await this.#indexes.findAbandoned(limit);
    await this.#waiting.repair(limit);
    return await this.#indexes.findFree(limit);
  }

  async claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    const claim = await this.#claims.claimNext(options);
    return claim && (await this.#onClaimed(claim, options));
  }

  async claim(id: RunId, options: { leaseMs: number; force: boolean }) {
    const claim = await this.#claims.claim(id, options);
    return claim && (await this.#onClaimed(claim, options));
  }

  async #onClaimed(claim: Claim, { leaseMs }: { leaseMs: number }): Promise<Claim> {
    const { id } = claim.run;
    this.#channels.markHeld(id, leaseMs);
    try {
      // What the former owner wrote may still be hidden. A claim that nobody gets counts neither as an attempt nor as an owner.
      await this.#makeAllVisible(id, (replicas) => replicas.waitForClaim(id));
      return claim;
    } catch (thrown) {
      await this.release(id, { token: claim.token, unused: true }).catch(() => {});
      throw thrown;
    }
  }

  async restore(run: LostRun): Promise<'restored' | 'exists'> {
    const result = await this.#records.restore(run);
    const bothWaits = (replicas: Replicas) => Promise.all([replicas.waitForNewRun(run), replicas.waitForClaim(run.id)]);
    if (result === 'restored') await this.#makeAllVisible(run.id, bothWaits);
    return result;
  }

  async renew(id: RunId, options: { token: FencingToken; leaseMs: number }) {
    const renewed = await this.#claims.renew(id, options);
    if (renewed.result === 'ok') this.#channels.markHeld(id, options.leaseMs);
    else this.#channels.markReleased(id);
    return renewed;
  }

  async release(id: RunId, options: { token: FencingToken; unused?: boolean }): Promise<void> {
    try {
      await this.#claims.release(id, options);
    } finally {
      this.#channels.markReleased(id);
    }
  }

  async append(id: RunId, batch: AppendBatch): ReturnType<RunStore['append']> {
    checkAppend(batch);
    const reply = await this.#log.append(id, batch, this.#channels.header(batch));
    switch (reply[0]) {
      case 'ok': {
        await this.#publish(id, batch);
        this.#channels.deliver(id, batch);
        const [, last, cancel, ended] = reply;
        const facts = ended && parseFacts(ended);
        if (facts) await this.#updateIndexes(this.#records.markEnded(id, facts));
        return { result: 'ok', last, cancel: cancel === 1 };
      }
      case 'duplicate':
        await this.#publish(id, batch);
        // The first attempt was not answered, so nobody on this instance got its events.
        this.#channels.emitGap(id);
        if (batch.end) await this.#updateIndexes(this.#records.indexEnd(id));
        return { result: 'duplicate', last: reply[1], cancel: reply[2] === 1 };
      case 'gap':
      case 'cancelled':
        return { result: reply[0], last: reply[1] };
      default:
        this.#channels.markReleased(id);
        return { result: reply[0] };
    }
  }

  /** Waits until replicas have a batch, then makes it visible to readers on all instances. */
  async #publish(id: RunId, batch: AppendBatch): Promise<void> {
    if (!this.awaitsReplicas) return;
    await this.waitForReplicas(id);
    if (batch.count === 0) return;
    const message = Buffer.concat([Buffer.from(this.#channels.header(batch)), batch.frames]);
    await this.#log.makeVisible(id, { last: batch.first + batch.count - 1, message });
  }

  /** The write is done even if updating the indexes fails: the next claim or a repeat corrects them. */
  async #updateIndexes(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (thrown) {
      this.#logger.debug({ reason: messageOf(thrown) }, 'indexes of an ended run are behind');
    }
  }

  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    return await this.#readVisible(id, () => this.#log.read(id, options));
  }

  readLast(id: RunId): Promise<LogBatch | undefined> {
    return this.#readVisible(id, () => this.#log.readLast(id));
  }

  /** Reads the log. If its writer died before it made events visible, that is done first. */
  async #readVisible<T>(id: RunId, read: () => Promise<T | 'hidden'>): Promise<T> {
    for (let reads = 0; reads < MAX_READS; reads++) {
      const found = await read();
      if (found !== 'hidden') return found;
      await this.#makeAllVisible(id);
    }
    throw storeUnavailable('a failover hides what was written');
  }

  readTranscript(id: RunId): Promise<string[]> {
    return this.#log.transcript(id);
  }

  subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    return this.#channels.subscribe(id, handlers);
  }

  async requestCancel(id: RunId): ReturnType<RunStore['requestCancel']> {
    const reply = cancelReply.parse(await this.script(SCRIPTS.cancel, [this.keys.run(id)], [this.keys.changes, id]));
    if (reply[0] === 'accepted') await this.waitForReplicas(id);
    return reply[0] === 'ended' ? { result: 'ended', status: reply[1] } : { result: reply[0] };
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#channels.onChange(listener);
  }

  async delete(id: RunId): Promise<boolean> {
    const facts = await this.#records.remove(id, this.#channels.gapMessage);
    if (facts) await this.#indexes.remove({ id, ...facts }, facts);
    // Also if it was gone already: an earlier attempt may not have waited for replicas.
    await this.waitForReplicas(id);
    return facts !== undefined;
  }

  async removeExpired(options: { limit: number }): Promise<number> {
    const expired = await this.#indexes.findExpired(options.limit);
    for (let start = 0; start < expired.length; start += REMOVAL_BATCH) {
      const batch = expired.slice(start, start + REMOVAL_BATCH);
      await Promise.all(batch.map((run) => this.#removeExpired(run)));
    }
    return expired.length;
  }

  async #removeExpired(run: { id: RunId; user: string; api: RunApi }): Promise<void> {
    const facts = await this.#records.remove(run.id, this.#channels.gapMessage);
    await this.#indexes.remove(run, facts);
  }

  async compressEnded(options: { endedForMs: number; limit: number }): Promise<number> {
    const ids = await this.#indexes.findUncompressed(options);
    for (const id of ids) {
      await this.#compress(id);
      await this.#indexes.markCompressed(id);
    }
    return ids.length;
  }

  /** A damaged log stays uncompressed: it must not keep others from being compressed. */
  async #compress(id: RunId): Promise<void> {
    try {
      await this.#log.compress(id, { read: (range) => this.read(id, range), readLast: () => this.readLast(id) });
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
      this.#logger.error({ run: id, reason: messageOf(thrown) }, 'a log cannot be compressed');
    }
  }

  async check(): ReturnType<RunStore['check']> {
    try {
      const args = ['SET', this.keys.probe, '1', 'PX', `${PROBE_TTL_MS}`];
      await withTimeout('Redis', CHECK_TIMEOUT_MS, () => this.redis.command(args));
      await this.#replicas?.waitForProbe();
      return { ok: true };
    } catch (thrown) {
      return { ok: false, reason: redisReason(thrown) };
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#channels.close(), this.redis.close()]);
    await this.#onClose();
  }
}
