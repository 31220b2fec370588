import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDamaged } from './failure.ts';

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
 */
export class DatabaseHealth {
  readonly #path: string | undefined;
  readonly #identity: string | undefined;
  readonly #companions: readonly Companion[];
  /** How long the database was when it was whole, in bytes. */
  #wholeBytes: number;
  #damage: string | undefined;
  #found: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** `path` is undefined for a database in memory. */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#identity = path === undefined ? undefined : identityOf(path);
    this.#companions = path === undefined ? [] : companionsOf(path);
    this.#wholeBytes = path === undefined ? 0 : sizeOf(path);
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
    this.#found = this.#damage ?? (this.#path === undefined ? undefined : this.#look(this.#path));
    return this.#found;
  }

  /** The same as it was a moment ago. */
  recentProblem(): string | undefined {
    if (this.#path !== undefined && performance.now() - this.#lookedAt > LOOK_MS) return this.problem();
    return this.#damage ?? this.#found;
  }

  #look(path: string): string | undefined {
    const identity = identityOf(path);
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
    return this.#cut(path);
  }

  /** A database that is shorter than before is whole only where SQLite itself needs no more of it. */
  #cut(path: string): string | undefined {
    const bytes = sizeOf(path);
    const logIsWhole = beginsAsLog(`${path}-wal`);
    const { database, logIsMoved } = neededBytes(`${path}-shm`);
    const isShorter = logIsMoved || bytes < this.#wholeBytes;
    const name = isShorter && bytes < database ? 'runs.db' : logIsMoved || logIsWhole ? undefined : 'runs.db-wal';
    if (name === undefined) this.#wholeBytes = bytes;
    // For good: what is moved into the database from then on may be holes.
    else this.#damage = `${name} was cut off under the running gateway: stop it and restore a backup`;
    return this.#damage;
  }
}

function companionsOf(path: string): Companion[] {
  const stop = 'stop the gateway with SIGTERM, which saves what it holds, and start it again';
  return [
    { path: `${path}-wal`, name: 'runs.db-wal', fix: stop, identity: identityOf(`${path}-wal`) },
    { path: `${path}-shm`, name: 'runs.db-shm', fix: stop, identity: identityOf(`${path}-shm`) },
    lockFile(join(dirname(path), 'lock.db')),
  ];
}

function lockFile(path: string): Companion {
  const fix = 'another process could use its folder at the same time; start it again';
  return { path, name: 'lock.db', fix, identity: identityOf(path) };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Offsets in the index of a write-ahead log (https://www.sqlite.org/walformat.html). */
const INDEX = { pageSize: 14, frames: 16, pages: 20, moved: 96, bytes: 100 } as const;
/** How a write-ahead log begins, but for its last bit. */
const LOG_MAGIC = 0x37_7f_06_82;

/**
 * How long the database is at least, in bytes, once all of the log was moved into it; whether it was. SQLite keeps both
 * in the log's index.
 */
function neededBytes(path: string): { database: number; logIsMoved: boolean } {
  const index = beginningOf(path, INDEX.bytes);
  const size = index.readUInt16LE(INDEX.pageSize);
  const pageBytes = size === 1 ? 65_536 : size;
  return {
    database: index.readUInt32LE(INDEX.pages) * pageBytes,
    logIsMoved: index.readUInt32LE(INDEX.moved) >= index.readUInt32LE(INDEX.frames),
  };
}

/** Its writer does not notice that a log is cut off: it writes on where it was, behind a hole. */
function beginsAsLog(path: string): boolean {
  return (beginningOf(path, 4).readUInt32BE() & ~1) === LOG_MAGIC;
}

/** The first bytes of a file, and zeros where it is shorter. */
function beginningOf(path: string, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, length, 0);
  } finally {
    closeSync(file);
  }
  return bytes;
}
