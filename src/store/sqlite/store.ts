import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import { type CompressedLog, CompressedLogs, compressLog } from '../compressed-log.ts';
import { unavailable } from '../failure.ts';
import { isDamage } from '../frames.ts';
import type { LimitStore } from '../limit-store.ts';
import { listPage } from '../list-page.ts';
import { Listeners, LogListeners } from '../listeners.ts';
import type {
  Append,
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
import { sqliteSideStores } from './beside/side-stores.ts';
import { cancelOfEnded, RunClaims } from './claims.ts';
import { sqliteFailure, sqliteReason } from './failure.ts';
import type { Checkpoints } from './files/checkpoints.ts';
import type { DatabaseHealth } from './files/health.ts';
import { SubmissionKeys } from './keys.ts';
import { SqliteLimits } from './limits.ts';
import { Lists } from './lists.ts';
import { appendAfterEnd, Log, type LogRef } from './log.ts';
import { isFree, type OpenRun, OpenRuns, openRun } from './open-runs.ts';
import { Records } from './records.ts';
import { sqliteSecret } from './shared-secret.ts';
import { inTime, type Transaction, Writer } from './writer.ts';

/** Memory for finished logs that are read again and again. */
const COMPRESSED_LOGS_BYTES = 32 * 1024 ** 2;
/** Submission keys or conversations removed in one transaction, which holds up all others. */
const REMOVED_AT_ONCE = 50;

export interface SqliteStoreOptions {
  log: Logger;
  clock: Clock;
  /** The time of claims, which live in memory alone: a wall clock that is put right neither ends nor prolongs one. */
  steady: Clock;
  /** Of a database in files. */
  health?: DatabaseHealth | undefined;
  checkpoints?: Checkpoints | undefined;
  /** Frees what belongs to the database. */
  onClose: () => void;
}

/**
 * The run store over one SQLite database that belongs to this process alone. Writes of one turn of the event loop are
 * one transaction (see `Writer`); subscribers get a batch from the committed append, without a read.
 */
export class SqliteRunStore implements RunStore {
  readonly #db: DatabaseSync;
  readonly #options: SqliteStoreOptions;
  readonly #writer: Writer;
  readonly #open: OpenRuns;
  readonly #records: Records;
  readonly #lists: Lists;
  readonly #keys: SubmissionKeys;
  readonly #claims: RunClaims;
  readonly #log: Log;
  readonly #limits: SqliteLimits;
  /** Kept in the same database. */
  readonly beside: ReturnType<typeof sqliteSideStores>;
  readonly #readers = new LogListeners();
  readonly #changes = new Listeners<RunChange>();
  readonly #compressed = new CompressedLogs(COMPRESSED_LOGS_BYTES);
  #closed = false;

  /** Takes over an open, prepared database. */
  constructor(db: DatabaseSync, options: SqliteStoreOptions) {
    const { clock, health, checkpoints } = options;
    this.#db = db;
    this.#options = options;
    this.#writer = new Writer(db, {
      failed: (thrown) => health?.note(thrown),
      committed: () => checkpoints?.committed(),
    });
    this.#open = new OpenRuns(db);
    this.#records = new Records(db, this.#open);
    this.#lists = new Lists(db, { summary: (row) => this.#records.summary(row) });
    this.#keys = new SubmissionKeys(db, { clock, find: (id) => this.#records.get(id) });
    this.#claims = new RunClaims(db, this.#open);
    this.#log = new Log(db, { claims: this.#claims, clock });
    this.#limits = new SqliteLimits(db, { ...options, writer: this.#writer });
    const parts = { clock, writer: this.#writer, read: <T>(work: () => T) => this.#read(work) };
    this.beside = sqliteSideStores(db, parts);
  }

  /** Limits of keys, kept in the same database. */
  get limits(): LimitStore {
    return this.#limits.store;
  }

  /** See `Storage.secret`. */
  secret(): Promise<string> {
    return this.#writer.run(() => sqliteSecret(this.#db));
  }

  create(run: NewRun): ReturnType<RunStore['create']> {
    return this.#writer.run((transaction) => {
      // What runs already goes on as long as it can; new work is not begun where it may be lost.
      const problem = this.#options.health?.recentProblem();
      if (problem !== undefined) throw unavailable(problem);
      const holder = run.keys && this.#keys.find(run.keys);
      if (holder && holder.runId !== run.id) return { taken: holder };
      const key = this.#records.insert(run);
      if (key === undefined) return 'exists';
      if (run.keys) this.#keys.insert(run.id, run.keys);
      this.#log.start(key, run.frameCount, run.frames);
      const open = openRun(run, key, this.#options.steady.now());
      this.#open.add(open);
      transaction.onRollback(() => this.#open.remove(run.id));
      if (open.claim) return { token: open.claim.token };
      transaction.onCommit(() => this.#changes.tell({ type: 'claimable', id: run.id }));
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
        this.#read(() => this.#lists.of(query)),
      );
    } catch (thrown) {
      throw sqliteFailure(thrown);
    }
  }

  async countOpen() {
    return this.#open.count();
  }

  async claimable(options: { limit: number; abandoned?: boolean }): Promise<RunId[]> {
    return this.#open.free(this.#options.steady.now(), options).map((run) => run.id);
  }

  async countQueued(keyId: string): Promise<number> {
    return this.#open.countQueued(keyId);
  }

  async claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    // Asked after every run that ends: a transaction that finds nothing costs as much as one that writes.
    if (!this.#closed && !this.#open.next(this.#options.steady.now(), options)) return undefined;
    return await this.#writer.run((transaction) => {
      const run = this.#open.next(this.#options.steady.now(), options);
      if (run?.queued) this.#open.tookTurn(run.keyId);
      return this.#take(run, options, transaction);
    });
  }

  claim(id: RunId, options: { leaseMs: number; force: boolean }) {
    return this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run || (!options.force && !isFree(run, this.#options.steady.now()))) return undefined;
      return this.#take(run, options, transaction);
    });
  }

  #take(run: OpenRun | undefined, options: { leaseMs: number }, transaction: Transaction) {
    if (!run) return undefined;
    const token = this.#claims.take(
      run,
      { ...options, now: this.#options.clock.now(), claimedAt: this.#options.steady.now() },
      transaction,
    );
    const record = this.#records.get(run.id);
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
      if (run.claim?.token !== options.token) return this.#claims.excuse(run, options.token, transaction);
      this.#claims.release(run, transaction);
      transaction.onCommit(() => this.#changes.tell({ type: 'claimable', id }));
    });
  }

  async append(id: RunId, batch: Append): ReturnType<RunStore['append']> {
    checkAppend(batch);
    return await this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run) return appendAfterEnd(this.#records.ended(id), batch);
      const result = this.#log.append(run, batch, transaction);
      if (result.result !== 'ok') return result;
      if (batch.end) {
        this.#keys.ended(id);
        this.#open.remove(id);
        transaction.onRollback(() => this.#open.add(run));
      }
      if (this.#readers.has(id)) transaction.onCommit(() => this.#readers.appended(id, batch));
      return result;
    });
  }

  async read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    const run = this.#read(() => this.#records.logOf(id));
    if (!run) return [];
    if (run.compressed) return (await (await this.#compressedLog(id, run.key))?.read(options)) ?? [];
    return this.#read(() => this.#log.read(run.key, run.last, options));
  }

  async readLast(id: RunId): Promise<LogBatch | undefined> {
    const run = this.#read(() => this.#records.logOf(id));
    if (!run) return undefined;
    if (run.compressed) return await (await this.#compressedLog(id, run.key))?.readLast();
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

  async #compressedLog(id: RunId, key: number): Promise<CompressedLog | undefined> {
    const stored = this.#log.compressed(key);
    return await this.#compressed.get(id, {
      size: () => this.#read(() => stored.size()),
      range: (offset, length) => this.#read(() => stored.range(offset, length)),
    });
  }

  async subscribe(id: RunId, handlers: LogHandlers) {
    return this.#readers.add(id, handlers);
  }

  requestCancel(id: RunId): ReturnType<RunStore['requestCancel']> {
    return this.#writer.run((transaction) => {
      const run = this.#open.get(id);
      if (!run) return cancelOfEnded(this.#records.ended(id));
      if (!run.cancelRequested) this.#claims.requestCancel(run, transaction);
      transaction.onCommit(() => this.#changes.tell({ type: 'cancel', id }));
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
    this.#keys.removed(id);
    this.#compressed.forget(id);
    const run = this.#open.get(id);
    this.#open.remove(id);
    if (run) transaction.onRollback(() => this.#open.add(run));
    transaction.onCommit(() => this.#readers.gap(id));
    return true;
  }

  async removeExpired(options: { limit: number }): Promise<number> {
    const { conversations, deliveries, readings } = this.beside;
    for (const some of [this.#keys, conversations, deliveries, readings]) {
      const remove = () => this.#writer.run(() => some.removeExpired(REMOVED_AT_ONCE));
      while ((await remove()) === REMOVED_AT_ONCE);
    }
    const ids = this.#read(() => this.#records.expired(this.#options.clock.now(), options.limit));
    for (let done = 0; done < ids.length; ) {
      // Runs that are removed together share most pages, and the write-ahead log gets each page once for all of them.
      done += await this.#writer.run((transaction) => inTime(ids.slice(done), (id) => this.#remove(id, transaction)));
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
    if (this.#closed) throw unavailable('it is closed');
    try {
      return read();
    } catch (thrown) {
      this.#options.health?.note(thrown);
      throw sqliteFailure(thrown);
    }
  }
}
