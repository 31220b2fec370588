import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDamaged } from '../failure.ts';
import { beginsAsLog, fileSize, readOpenIndex } from './log-files.ts';

/** How old a look at the files may be where a new run is stored, in milliseconds. */
const LOOK_MS = 250;

/** A file beside the database, and what is lost with it. */
interface Companion {
  readonly path: string;
  readonly name: string;
  readonly fix: string;
  identity: string | undefined;
}

/**
 * Whether the database is still the one that was opened, and whole. A file that is deleted, replaced or cut off stays open:
 * what is written to it afterwards would be gone with the next restart, and nothing else would tell.
 *
 * The database and the index of its log must not be opened and closed here while SQLite has them open: closing a file gives
 * up all locks of the process on it, SQLite's too (https://www.sqlite.org/howtocorrupt.html, 2.2). Whoever opens the database
 * next, a backup for one, believes to be alone and cuts the index off: the gateway dies of SIGBUS, or loses what it wrote.
 */
export class DatabaseHealth {
  readonly #path: string;
  readonly #identity: string | undefined;
  readonly #companions: readonly Companion[];
  /** The index of the log, open until the database is closed. */
  readonly #index: number | undefined;
  /** How long the database was when it was whole, in bytes. */
  #wholeBytes: number;
  #damage: string | undefined;
  #found: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
    this.#companions = companionsOf(path);
    this.#index = existsSync(`${path}-shm`) ? openSync(`${path}-shm`, 'r') : undefined;
    this.#wholeBytes = fileSize(path) ?? 0;
  }

  /** To be called behind the last connection's end. */
  close(): void {
    if (this.#index !== undefined) closeSync(this.#index);
  }

  /** Remembers a failure that says that the database is damaged. */
  note(thrown: unknown): void {
    if (thrown instanceof Error && isDamaged(thrown)) {
      this.#damage = 'pages of the database are damaged: stop the gateway and restore a backup';
    }
  }

  /** Why nothing new should be stored. */
  problem(): string | undefined {
    this.#lookedAt = performance.now();
    this.#found = this.#damage ?? this.#look();
    return this.#found;
  }

  /** The same as it was a moment ago. */
  recentProblem(): string | undefined {
    if (performance.now() - this.#lookedAt > LOOK_MS) return this.problem();
    return this.#damage ?? this.#found;
  }

  #look(): string | undefined {
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
    return this.#cut();
  }

  /** A database that is shorter than before is whole only where SQLite itself needs no more of it. */
  #cut(): string | undefined {
    const bytes = fileSize(this.#path) ?? 0;
    const index = this.#index === undefined ? undefined : readOpenIndex(this.#index);
    // An index that is being written is looked at again.
    if (!index) return undefined;
    const logIsMoved = index.moved >= index.frames;
    const isShorter = logIsMoved || bytes < this.#wholeBytes;
    const isCut = isShorter && bytes < index.pages * index.pageBytes;
    // Its writer does not notice that a log is cut off: it writes on where it was, behind a hole.
    const logIsCut = !logIsMoved && !beginsAsLog(`${this.#path}-wal`);
    const name = isCut ? 'runs.db' : logIsCut ? 'runs.db-wal' : undefined;
    if (name === undefined) this.#wholeBytes = bytes;
    // For good: what is moved into the database from then on may be holes.
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
