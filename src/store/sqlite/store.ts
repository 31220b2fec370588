import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { CompressedLog, compressLog } from '../compressed-log.ts';
import { storeUnavailable } from '../failure.ts';
import { isDamage } from '../frames.ts';
import type { LimitStore } from '../limit-store.ts';
import { listPage } from '../list-page.ts';
import { Listeners, LogListeners } from '../listeners.ts';
import type {
  AppendBatch,
  Claim,
  FencingToken,
  KeyHolder,
  ListQuery,
  LogBatch,
  LogHandlers,
  NewRun,
  RunChange,
  RunRecord,
  RunStore,
  SubmissionKeyName,
} from '../run-store.ts';
import { checkAppend } from '../run-store-checks.ts';
import { cancelResultOf, SqliteClaims } from './claims.ts';
import { sqliteFailure, sqliteReason } from './failure.ts';
import type { Checkpoints } from './files/checkpoints.ts';
import type { DatabaseHealth } from './files/health.ts';
import { SqliteSubmissionKeys } from './keys.ts';
import { SqliteLimits } from './limits.ts';
import { SqliteLists } from './lists.ts';
import { appendAfterEnd, type LogRef, SqliteLog } from './log.ts';
import { isFree, newOpenRun, type OpenRun, OpenRuns } from './open-runs.ts';
import { SqliteRecords } from './records.ts';
import { unlessUnreadable } from './rows.ts';
import { sqliteSecret } from './shared-secret.ts';
import { sqliteSideStores } from './side-stores/side-stores.ts';
import { forEachInTime, type Transaction, Writer } from './writer.ts';

/** How many submission keys, conversations and the like are removed in one transaction, which blocks all others. */
const REMOVAL_BATCH = 50;

export interface SqliteStoreOptions {
  log: Logger;
  clock: Clock;
  /** The monotonic clock of claims, which are in memory only: corrections of the wall clock do not move them. */
  steady: Clock;
  /** Set if the database is in files. */
  health?: DatabaseHealth | undefined;
  checkpoints?: Checkpoints | undefined;
  onClose: () => void;
}

/**
 * The run store over a SQLite database that only this process uses. All writes of one turn of the event loop share a
 * transaction (see `Writer`); subscribers get each batch from its committed append, without a read.
 */
export class SqliteRunStore implements RunStore {
  readonly #db: DatabaseSync;
  readonly #options: SqliteStoreOptions;
  readonly #writer: Writer;
  readonly #open: OpenRuns;
  readonly #records: SqliteRecords;
  readonly #lists: SqliteLists;
  readonly #keys: SqliteSubmissionKeys;
  readonly #claims: SqliteClaims;
  readonly #log: SqliteLog;
  readonly #limits: SqliteLimits;
  /** The stores beside the runs, in the same database. */
  readonly sideStores: ReturnType<typeof sqliteSideStores>;
  readonly #subscribers = new LogListeners();
  readonly #changes = new Listeners<RunChange>();
  #closed = false;

  /** Takes over a database that is open and migrated. */
  constructor(db: DatabaseSync, options: SqliteStoreOptions) {
    const { clock, health, checkpoints } = options;
    this.#db = db;
    this.#options = options;
    this.#writer = new Writer(db, {
      onFailure: (thrown) => health?.note(thrown),
      onCommit: () => checkpoints?.onCommit(),
    });
    this.#open = new OpenRuns(db, options.log);
    this.#records = new SqliteRecords(db, this.#open);
    this.#lists = new SqliteLists(db, { summary: (row) => this.#records.summary(row), log: options.log });
    this.#keys = new SqliteSubmissionKeys(db, { clock, find: (id) => this.#records.get(id) });
    this.#claims = new SqliteClaims(db, this.#open);
    this.#log = new SqliteLog(db, { claims: this.#claims, clock });
    this.#limits = new SqliteLimits(db, { ...options, writer: this.#writer });
    const parts = { clock, writer: this.#writer, read: <T>(work: () => T) => this.#read(work) };
    this.sideStores = sqliteSideStores(db, parts);
  }

  /** The limits of keys, in the same database. */
  get limits(): LimitStore {
    return this.#limits.store;
  }

  /** See `Storage.secret`. */
  secret(): Promise<string> {
    return this.#writer.run(() => sqliteSecret(this.#db));
  }

  create(run: NewRun): ReturnType<RunStore['create']> {
    return this.#writer.run((transaction) => {
      // Open runs continue as long as they can, but new ones are not accepted if they may be lost.
      const problem = this.#options.health?.recentProblem();
      if (problem !== undefined) throw storeUnavailable(problem);
      const holder = run.keys && this.#keys.find(run.keys);
      if (holder && holder.runId !== run.id) return { taken: holder };
      const key = this.#records.insert(run);
      if (key === undefined) return 'exists';
      if (run.keys) this.#keys.insert(run.id, run.keys);
      this.#log.insertFirst(key, run.frameCount, run.frames);
      const open = newOpenRun(run, key, this.#options.steady.now());
      this.#open.add(open);
      transaction.onRollback(() => this.#open.remove(run.id));
      if (open.claim) return { token: open.claim.token };
      transaction.onCommit(() => this.#changes.emit({ type: 'claimable', id: run.id }));
      return 'created';
    });
  }

  async findKey(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined> {
    return this.#read(() => this.#keys.find(keys));
  }

  async get(id: RunId): Promise<RunRecord | undefined> {
    return this.#read(() => this.#records.get(id));
  }

  async list(query: ListQuery) {
    try {
      return await listPage(
        query,
        this.#read(() => this.#lists.indexesOf(query)),
      );
    } catch (thrown) {
      throw sqliteFailure(thrown);
    }
  }

  async countOpen() {
    return this.#open.count();
  }

  async findClaimable(options: { limit: number; abandoned?: boolean }): Promise<RunId[]> {
    return this.#open.findFree(this.#options.steady.now(), options).map((run) => run.id);
  }

  async countQueued(keyId: string): Promise<number> {
    return this.#open.countQueued(keyId);
  }

  async claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    // Called after every run that ends: a transaction that finds nothing costs as much as one that writes.
    if (!this.#closed && !this.#open.findNext(this.#options.steady.now(), options)) return undefined;
    return await this.#writer.run((transaction) => {
      for (;;) {
        const run = this.#open.findNext(this.#options.steady.now(), options);
        if (run?.queued) this.#open.endTurn(run.keyId);
        const claim = run && this.#claim(run, options, transaction);
        if (claim || !run) return claim;
      }
    });
  }

  claim(id: RunId, options: { leaseMs: number; force: boolean }) {
    return this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run || (!options.force && !isFree(run, this.#options.steady.now()))) return undefined;
      return this.#claim(run, options, transaction);
    });
  }

  /** Undefined for a run that cannot be read: it stays claimed for that long, and out of the way of others. */
  #claim(run: OpenRun, options: { leaseMs: number }, transaction: Transaction): Claim | undefined {
    const token = this.#claims.claim(
      run,
      { ...options, now: this.#options.clock.now(), claimedAt: this.#options.steady.now() },
      transaction,
    );
    const record = unlessUnreadable(() => this.#records.get(run.id), { run: run.id, log: this.#options.log });
    return record && { run: record, token, attempts: run.attempts };
  }

  async renew(id: RunId, options: { token: FencingToken; leaseMs: number }) {
    const run = this.#open.get(id);
    if (!run?.claim || run.claim.token !== options.token) return { result: 'fenced' as const };
    run.claim.until = this.#options.steady.now() + options.leaseMs;
    return { result: 'ok' as const, cancel: run.cancelRequested };
  }

  release(id: RunId, options: { token: FencingToken }): Promise<void> {
    return this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run) return;
      if (run.claim?.token !== options.token) return this.#claims.uncountAttempt(run, options.token, transaction);
      this.#claims.release(run, transaction);
      transaction.onCommit(() => this.#changes.emit({ type: 'claimable', id }));
    });
  }

  async append(id: RunId, batch: AppendBatch): ReturnType<RunStore['append']> {
    checkAppend(batch);
    return await this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run) return appendAfterEnd(this.#records.findEnded(id), batch);
      const result = this.#log.append(run, batch, transaction);
      if (result.result !== 'ok') return result;
      if (batch.end) {
        this.#keys.onRunEnded(id);
        this.#open.remove(id);
        transaction.onRollback(() => this.#open.add(run));
      }
      if (this.#subscribers.has(id)) transaction.onCommit(() => this.#subscribers.emitAppended(id, batch));
      return result;
    });
  }

  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    const run = this.#read(() => this.#records.logOf(id));
    if (!run) return [];
    if (run.compressed) return (await (await this.#compressedLog(run.key))?.read(options)) ?? [];
    return this.#read(() => this.#log.read(run.key, run.last, options));
  }

  async readLast(id: RunId): Promise<LogBatch | undefined> {
    const run = this.#read(() => this.#records.logOf(id));
    if (!run) return undefined;
    if (run.compressed) return await (await this.#compressedLog(run.key))?.readLast();
    return this.#read(() => this.#log.readLast(run.key));
  }

  async readTranscript(id: RunId): Promise<string[]> {
    if (this.#open.get(id)?.entries === 0) return [];
    const run = this.#read(() => this.#records.logOf(id));
    return run ? this.#read(() => this.#log.transcript(run.key)) : [];
  }

  async compressEnded(options: { endedForMs: number; limit: number }): Promise<number> {
    const endedBefore = this.#options.clock.now() - options.endedForMs;
    const runs = this.#read(() => this.#log.uncompressed(endedBefore, options.limit));
    for (const run of runs) await this.#compress(run);
    return runs.length;
  }

  async #compress(run: LogRef): Promise<void> {
    try {
      const bytes = await compressLog({
        read: (range) => this.#read(() => this.#log.read(run.key, run.last, range)),
        readLast: () => this.#read(() => this.#log.readLast(run.key)),
      });
      await this.#writer.run(() => this.#log.replaceBatches(run, bytes));
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
      this.#options.log.error({ run: run.id, reason: messageOf(thrown) }, 'a log cannot be compressed');
      await this.#writer.run(() => this.#log.leaveUncompressed(run));
    }
  }

  async #compressedLog(key: number): Promise<CompressedLog | undefined> {
    const stored = this.#log.compressed(key);
    return await CompressedLog.open({
      size: () => this.#read(() => stored.size()),
      range: (offset, length) => this.#read(() => stored.range(offset, length)),
    });
  }

  async subscribe(id: RunId, handlers: LogHandlers) {
    return this.#subscribers.add(id, handlers);
  }

  requestCancel(id: RunId): ReturnType<RunStore['requestCancel']> {
    return this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run) return cancelResultOf(this.#records.findEnded(id));
      if (!run.cancelRequested) this.#claims.requestCancel(run, transaction);
      transaction.onCommit(() => this.#changes.emit({ type: 'cancel', id }));
      return { result: 'accepted' };
    });
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#changes.add(listener);
  }

  delete(id: RunId): Promise<boolean> {
    return this.#writer.run((transaction) => this.#remove(id, transaction));
  }

  #remove(id: RunId, transaction: Transaction): boolean {
    if (!this.#records.remove(id)) return false;
    this.#keys.onRunRemoved(id);
    const run = this.#open.get(id);
    this.#open.remove(id);
    if (run) transaction.onRollback(() => this.#open.add(run));
    transaction.onCommit(() => this.#subscribers.emitGap(id));
    return true;
  }

  async removeExpired(options: { limit: number }): Promise<number> {
    const { conversations, deliveries, readings } = this.sideStores;
    for (const part of [this.#keys, conversations, deliveries, readings]) {
      const remove = () => this.#writer.run(() => part.removeExpired(REMOVAL_BATCH));
      while ((await remove()) === REMOVAL_BATCH);
    }
    const ids = this.#read(() => this.#records.findExpired(this.#options.clock.now(), options.limit));
    for (let done = 0; done < ids.length; ) {
      // Runs that are removed together share most pages, and the write-ahead log gets each page once per transaction.
      const rest = ids.slice(done);
      done += await this.#writer.run((transaction) => forEachInTime(rest, (id) => this.#remove(id, transaction)));
    }
    return ids.length;
  }

  async check(): ReturnType<RunStore['check']> {
    try {
      await this.#writer.run(() => this.#records.probe(this.#options.clock.now()));
      const problem = this.#options.health?.problem();
      return problem === undefined ? { ok: true } : { ok: false, reason: problem };
    } catch (thrown) {
      return { ok: false, reason: sqliteReason(thrown) };
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#limits.close();
    this.#writer.close();
    this.#closed = true;
    await this.#options.checkpoints?.stop();
    this.#db.close();
    this.#options.health?.close();
    this.#options.onClose();
  }

  #read<T>(read: () => T): T {
    if (this.#closed) throw storeUnavailable('it is closed');
    try {
      return read();
    } catch (thrown) {
      this.#options.health?.note(thrown);
      throw sqliteFailure(thrown);
    }
  }
}
