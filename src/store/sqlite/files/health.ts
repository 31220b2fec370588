import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDamaged } from '../failure.ts';
import { fileSize, hasLogMagic, readOpenLogIndex } from './log-files.ts';

/** How old an inspection may be when a new run is stored, in milliseconds. */
const MAX_AGE_MS = 250;

/** A companion file of the database, and what to do if it is lost. */
interface Companion {
  readonly path: string;
  readonly name: string;
  readonly fix: string;
  identity: string | undefined;
}

/**
 * Tells whether the database is still the one that was opened, and whole. A file that is deleted, replaced or truncated
 * stays open: later writes to it would be gone at the next restart, and nothing else would notice.
 *
 * While SQLite has the database or the index of its log open, this class must not open and close them: closing a file
 * releases all locks that the process has on it, including those of SQLite (https://www.sqlite.org/howtocorrupt.html,
 * 2.2). Whoever opens the database next, such as a backup, would then believe to be alone and truncate the index: the
 * gateway dies of SIGBUS, or loses what it wrote.
 */
export class DatabaseHealth {
  readonly #path: string;
  readonly #identity: string | undefined;
  readonly #companions: readonly Companion[];
  /** The index of the log, open until the database is closed. */
  readonly #index: number | undefined;
  /** Size of the database when it was last known to be whole, in bytes. */
  #wholeBytes: number;
  #damage: string | undefined;
  #lastProblem: string | undefined;
  #inspectedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
    this.#companions = companionsOf(path);
    this.#index = existsSync(`${path}-shm`) ? openSync(`${path}-shm`, 'r') : undefined;
    this.#wholeBytes = fileSize(path) ?? 0;
  }

  /** Call it after the last connection is closed. */
  close(): void {
    if (this.#index !== undefined) closeSync(this.#index);
  }

  /** Remembers a failure that shows that the database is damaged. */
  note(thrown: unknown): void {
    if (thrown instanceof Error && isDamaged(thrown)) {
      this.#damage = 'pages of the database are damaged: stop the gateway and restore a backup';
    }
  }

  /** Inspects the files. Returns why no new run should be stored; undefined if all is well. */
  problem(): string | undefined {
    this.#inspectedAt = performance.now();
    this.#lastProblem = this.#damage ?? this.#inspect();
    return this.#lastProblem;
  }

  /** Like `problem`, but may reuse a recent inspection. */
  recentProblem(): string | undefined {
    if (performance.now() - this.#inspectedAt > MAX_AGE_MS) return this.problem();
    return this.#damage ?? this.#lastProblem;
  }

  #inspect(): string | undefined {
    const identity = identityOf(this.#path);
    if (identity !== this.#identity) {
      const what = identity === undefined ? 'deleted' : 'replaced';
      return `runs.db was ${what} under the running gateway: put the former file back, or restart it to begin with what is there`;
    }
    for (const companion of this.#companions) {
      const now = identityOf(companion.path);
      companion.identity ??= now;
      if (now === companion.identity) continue;
      const what = now === undefined ? 'deleted' : 'replaced';
      return `${companion.name} was ${what} under the running gateway: ${companion.fix}`;
    }
    return this.#findTruncation();
  }

  /** Finds truncated files. A database that has become shorter is whole only if SQLite itself needs no more of it. */
  #findTruncation(): string | undefined {
    const bytes = fileSize(this.#path) ?? 0;
    const index = this.#index === undefined ? undefined : readOpenLogIndex(this.#index);
    // The index is being written; the next inspection reads it again.
    if (!index) return undefined;
    const logIsMoved = index.checkpointed >= index.frames;
    const isShorter = logIsMoved || bytes < this.#wholeBytes;
    const isCut = isShorter && bytes < index.pages * index.pageBytes;
    // SQLite does not notice a truncated log: it goes on writing at the old position, after a hole.
    const logIsCut = !logIsMoved && !hasLogMagic(`${this.#path}-wal`);
    const name = isCut ? 'runs.db' : logIsCut ? 'runs.db-wal' : undefined;
    if (name === undefined) this.#wholeBytes = bytes;
    // Permanent: from now on checkpoints may copy holes into the database.
    else this.#damage = `${name} was cut off under the running gateway: stop it and restore a backup`;
    return this.#damage;
  }
}

function companionsOf(path: string): Companion[] {
  const stop = 'stop the gateway with SIGTERM, which saves what it holds, and start it again';
  const lock = 'another process could use its folder at the same time; start it again';
  return [
    { path: `${path}-wal`, fix: stop },
    { path: `${path}-shm`, fix: stop },
    { path: join(dirname(path), 'lock.db'), fix: lock },
  ].map((file) => ({ ...file, name: basename(file.path), identity: identityOf(file.path) }));
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
