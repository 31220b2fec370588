import { withTimeout } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { unavailable } from '../failure.ts';
import { isDamage } from '../frames.ts';
import { listPage } from '../list-page.ts';
import type {
  Append,
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
import { Indexes } from './runs/indexes.ts';
import { RedisLists } from './runs/lists.ts';
import { RedisLog } from './runs/log.ts';
import { RedisRecords } from './runs/records.ts';
import type { Replicas } from './runs/replicas.ts';
import { RedisSubmissionKeys } from './runs/submission-keys.ts';
import { WaitingRuns } from './runs/waiting.ts';
import { SCRIPTS } from './scripts.ts';

/** What was shown once is seen, unless a failover takes it back. */
const MOST_LOOKS = 3;
/** Small enough that others' commands do not wait. */
const REMOVED_AT_ONCE = 20;
const CHECK_LIMIT_MS = 900;
const PROBE_TTL_MS = 60_000;

/** The run store over Redis, for any number of instances. Each step that must be atomic is one script. */
export class RedisRunStore extends RedisPart implements RunStore {
  readonly #channels: Channels;
  readonly #lists: RedisLists;
  readonly #indexes: Indexes;
  readonly #submissions: RedisSubmissionKeys;
  readonly #waiting: WaitingRuns;
  readonly #records: RedisRecords;
  readonly #claims: RedisClaims;
  readonly #log: RedisLog;
  readonly #replicas: Replicas | undefined;
  readonly #logger: Logger;
  readonly #onClose: () => Promise<void>;

  /**
   * Takes over both connections; `onClose` frees what belongs to them. `clock` is the store's time. With `replicas`,
   * writes wait for them before anybody sees them.
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
    const timed = { ...parts, clock: options.clock };
    const lists = new RedisLists(timed);
    const indexes = new Indexes({ ...parts, lists });
    const waiting = new WaitingRuns(parts);
    const submissions = new RedisSubmissionKeys(parts);
    const records = new RedisRecords({ ...parts, indexes, lists, submissions, waiting });
    this.#lists = lists;
    this.#indexes = indexes;
    this.#waiting = waiting;
    this.#submissions = submissions;
    this.#records = records;
    this.#claims = new RedisClaims({ ...timed, records, indexes, waiting });
    this.#log = new RedisLog(parts);
  }

  async create(run: NewRun): ReturnType<RunStore['create']> {
    const result = await this.#records.create(run);
    if (typeof result === 'object' && 'taken' in result) {
      await this.#waitForRepeat(result.taken, run.keys);
      return result;
    }
    if (typeof result === 'object') {
      if (run.claim) this.#channels.holds(run.id, run.claim.leaseMs);
      // Until the indexes know of the claim they call the run queued: whoever wants to claim it finds that it is held.
      const indexed = this.#tidy(this.#indexes.markClaimed(run.id, result.until));
      if (this.#replicas) await indexed;
    }
    // Also where it exists: an earlier attempt may have stored it without waiting to the end.
    await this.#showNew(run, { last: run.frameCount, keys: run.keys });
    return typeof result === 'object' ? { token: result.token } : result;
  }

  /** What a run began with, and all that leads to it, is at replicas; readers may see it up to the event `last`. */
  async #showNew(
    run: Pick<NewRun, 'id' | 'user' | 'api' | 'claim'>,
    { last, keys = [] }: { last: number; keys: readonly SubmissionKeyName[] | undefined },
  ): Promise<void> {
    if (!this.#replicas) return;
    await this.#replicas.haveNew({ ...run, keys });
    await this.#log.show(run.id, { last });
  }

  /** Everything of the run is at replicas, and readers may see it. `have` waits for more than the run itself. */
  async #showAll(id: RunId, have = (replicas: Replicas) => replicas.have(id)): Promise<void> {
    if (!this.#replicas) return;
    await have(this.#replicas);
    await this.#log.show(id);
  }

  async findKey(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined> {
    const holder = await this.#submissions.find(keys);
    if (holder) await this.#waitForRepeat(holder, keys);
    return holder;
  }

  /**
   * The attempt that stored or deleted a run may not have waited to the end, and what a repeat reads must not be
   * lost either. It is shown no further than what was waited for.
   */
  async #waitForRepeat({ run, runId }: KeyHolder, keys: readonly SubmissionKeyName[] | undefined): Promise<void> {
    if (run) await this.#showNew(run, { last: run.last, keys });
    else await this.have(runId);
  }

  get(id: RunId): ReturnType<RunStore['get']> {
    return this.#records.get(id);
  }

  async list(query: ListQuery) {
    if (query.status || query.model !== undefined) await this.#lists.repair(query);
    const corrected = (id: RunId) => this.#records.indexEnd(id);
    return await listPage(query, this.#lists.of(query, corrected));
  }

  countOpen() {
    return this.#indexes.count();
  }

  countQueued(keyId: string): Promise<number> {
    return this.#waiting.count(keyId);
  }

  async claimable({ limit, abandoned = false }: { limit: number; abandoned?: boolean }): Promise<RunId[]> {
    if (abandoned) return await this.#indexes.abandoned(limit);
    await this.#waiting.repair(limit);
    return await this.#indexes.free(limit);
  }

  async claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    const claim = await this.#claims.takeNext(options);
    return claim && (await this.#claimed(claim, options));
  }

  async claim(id: RunId, options: { leaseMs: number; force: boolean }) {
    const claim = await this.#claims.take(id, options);
    return claim && (await this.#claimed(claim, options));
  }

  async #claimed(claim: Claim, { leaseMs }: { leaseMs: number }): Promise<Claim> {
    const { id } = claim.run;
    this.#channels.holds(id, leaseMs);
    // What the last owner wrote may not have been shown: the new one goes on behind it.
    await this.#showAll(id, (replicas) => replicas.haveClaim(id));
    return claim;
  }

  async restore(run: LostRun): Promise<'restored' | 'exists'> {
    const result = await this.#records.restore(run);
    if (result === 'restored') {
      await this.#showAll(run.id, async (replicas) => {
        await Promise.all([replicas.haveNew(run), replicas.haveClaim(run.id)]);
      });
    }
    return result;
  }

  async renew(id: RunId, options: { token: FencingToken; leaseMs: number }) {
    const renewed = await this.#claims.renew(id, options);
    if (renewed.result === 'ok') this.#channels.holds(id, options.leaseMs);
    else this.#channels.letsGo(id);
    return renewed;
  }

  async release(id: RunId, options: { token: FencingToken }): Promise<void> {
    try {
      await this.#claims.release(id, options);
    } finally {
      this.#channels.letsGo(id);
    }
  }

  async append(id: RunId, batch: Append): ReturnType<RunStore['append']> {
    checkAppend(batch);
    const reply = await this.#log.append(id, batch, this.#channels.header(batch));
    switch (reply[0]) {
      case 'ok': {
        await this.#show(id, batch);
        this.#channels.deliver(id, batch);
        const [, last, cancel, ended] = reply;
        const facts = ended && parseFacts(ended);
        if (facts) await this.#tidy(this.#records.markEnded(id, facts));
        return { result: 'ok', last, cancel: cancel === 1 };
      }
      case 'duplicate':
        await this.#show(id, batch);
        // The first attempt was not answered, so nobody here has seen its events yet.
        this.#channels.gap(id);
        if (batch.end) await this.#tidy(this.#records.indexEnd(id));
        return { result: 'duplicate', last: reply[1], cancel: reply[2] === 1 };
      case 'gap':
      case 'cancelled':
        return { result: reply[0], last: reply[1] };
      default:
        this.#channels.letsGo(id);
        return { result: reply[0] };
    }
  }

  /** Waits for replicas to have a batch, and shows it to readers everywhere. */
  async #show(id: RunId, batch: Append): Promise<void> {
    if (!this.awaitsReplicas) return;
    await this.have(id);
    if (batch.count === 0) return;
    const message = Buffer.concat([Buffer.from(this.#channels.header(batch)), batch.frames]);
    await this.#log.show(id, { last: batch.first + batch.count - 1, message });
  }

  /** The append is made whatever becomes of the indexes: the next claimer or a repeat puts right what stayed behind. */
  async #tidy(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (thrown) {
      this.#logger.debug({ reason: messageOf(thrown) }, 'indexes of an ended run are behind');
    }
  }

  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    return await this.#shown(id, () => this.#log.read(id, options));
  }

  readLast(id: RunId): Promise<LogBatch | undefined> {
    return this.#shown(id, () => this.#log.readLast(id));
  }

  /** What the log says; what its writer died before it could show is shown first. */
  async #shown<T>(id: RunId, ask: () => Promise<T | 'hidden'>): Promise<T> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const found = await ask();
      if (found !== 'hidden') return found;
      await this.#showAll(id);
    }
    throw unavailable('a failover hides what was written');
  }

  readTranscript(id: RunId): Promise<string[]> {
    return this.#log.transcript(id);
  }

  subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    return this.#channels.subscribe(id, handlers);
  }

  async requestCancel(id: RunId): ReturnType<RunStore['requestCancel']> {
    const reply = cancelReply.parse(await this.script(SCRIPTS.cancel, [this.keys.run(id)], [this.keys.changes, id]));
    if (reply[0] === 'accepted') await this.have(id);
    return reply[0] === 'ended' ? { result: 'ended', status: reply[1] } : { result: reply[0] };
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#channels.onChange(listener);
  }

  async delete(id: RunId): Promise<boolean> {
    this.#log.forget(id);
    const facts = await this.#records.remove(id, this.#channels.notice);
    if (facts) await this.#indexes.remove({ id, ...facts }, facts);
    // Also where it was gone already: an earlier attempt may not have waited to the end.
    await this.have(id);
    return facts !== undefined;
  }

  async removeExpired(options: { limit: number }): Promise<number> {
    const expired = await this.#indexes.expired(options.limit);
    for (let start = 0; start < expired.length; start += REMOVED_AT_ONCE) {
      const some = expired.slice(start, start + REMOVED_AT_ONCE);
      await Promise.all(some.map((run) => this.#removeExpired(run)));
    }
    return expired.length;
  }

  async #removeExpired(run: { id: RunId; user: string; api: RunApi }): Promise<void> {
    this.#log.forget(run.id);
    const facts = await this.#records.remove(run.id, this.#channels.notice);
    await this.#indexes.remove(run, facts);
  }

  async compressEnded(options: { endedForMs: number; limit: number }): Promise<number> {
    const ids = await this.#indexes.uncompressed(options);
    for (const id of ids) {
      await this.#compress(id);
      await this.#indexes.markCompressed(id);
    }
    return ids.length;
  }

  /** A damaged log is left as it is: it must not keep the others from being compressed. */
  async #compress(id: RunId): Promise<void> {
    try {
      await this.#log.compress(id);
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
      this.#logger.error({ run: id, reason: messageOf(thrown) }, 'a log cannot be compressed');
    }
  }

  async check(): ReturnType<RunStore['check']> {
    try {
      const args = ['SET', this.keys.probe, '1', 'PX', `${PROBE_TTL_MS}`];
      await withTimeout('Redis', CHECK_LIMIT_MS, () => this.redis.command(args));
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
