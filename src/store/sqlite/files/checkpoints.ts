import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { threadVariables } from '../../../base/compile-cache.ts';

/** Below this size the write-ahead log is left alone, in bytes: most stores never come so far, and need no thread. */
const SMALL_BYTES = 4 * 1024 ** 2;
/** Pause between two checkpoints, in milliseconds: the first commit behind one has to wait for the disk once. */
const EVERY_MS = 1000;
/**
 * Pages of the log at which the committing connection moves them itself, and waits for the disk: where the thread never
 * catches up with writers, and where there is no thread.
 */
const MOST_PAGES = { beside: 8192, alone: 1000 } as const;
const HEAP_MB = 16;

/**
 * Checkpoints in a thread of their own. SQLite moves its write-ahead log into the database within a commit, and syncs both
 * files: on a busy disk a commit took 50 ms to half a second then, and with it everything that this process serves.
 */
export class Checkpoints {
  readonly #db: DatabaseSync;
  readonly #path: string;
  #thread: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #working = false;
  #broken = false;

  /** `db` is the connection that writes. */
  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** To be called after every commit. */
  committed(): void {
    if (this.#broken) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#work();
    }, EVERY_MS).unref();
  }

  /** Ends the thread, before the writing connection is closed. */
  async stop(): Promise<void> {
    this.#broken = true;
    clearTimeout(this.#timer);
    await this.#thread?.terminate();
  }

  #work(): void {
    if (this.#working || this.#broken) return;
    this.#thread ??= this.#start();
    if (!this.#thread) return;
    this.#working = true;
    this.#thread.postMessage('checkpoint');
  }

  #start(): Worker | undefined {
    const size = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size < SMALL_BYTES) return undefined;
    // Without the right to create it: a database that was deleted is not to be there again, empty.
    const url = `${pathToFileURL(this.#path).href}?mode=rw`;
    const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      workerData: { url },
      env: threadVariables(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      if (this.#broken) return;
      this.#broken = true;
      this.#limit(MOST_PAGES.alone);
    };
    thread.on('message', () => {
      this.#working = false;
    });
    thread.once('error', gone);
    thread.once('exit', gone);
    thread.unref();
    this.#limit(MOST_PAGES.beside);
    return thread;
  }

  #limit(pages: number): void {
    if (this.#db.isOpen) this.#db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  }
}
