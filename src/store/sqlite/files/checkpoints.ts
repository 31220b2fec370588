import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { workerThreadEnv } from '../../../base/compile-cache.ts';

/** A smaller write-ahead log is left alone, in bytes: most stores never need the thread. */
const MIN_WAL_BYTES = 4 * 1024 ** 2;
/** Pause between two checkpoints, in milliseconds: the first commit after one has to wait for the disk. */
const INTERVAL_MS = 1000;
/**
 * Size of the log in pages at which the committing connection checkpoints by itself, and waits for the disk: if the
 * thread cannot keep up with the writers, and if there is no thread.
 */
const MAX_WAL_PAGES = { withThread: 8192, alone: 1000 } as const;
const HEAP_MB = 16;

/**
 * Runs checkpoints in a separate thread. By itself SQLite checkpoints within a commit and syncs both files: on a busy
 * disk such a commit blocked the whole process for 50 to 500 ms.
 */
export class Checkpoints {
  readonly #db: DatabaseSync;
  readonly #path: string;
  #thread: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #stopped = false;

  /** `db` is the writing connection. */
  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** To be called after every commit. */
  onCommit(): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#checkpoint();
    }, INTERVAL_MS).unref();
  }

  /** Ends the thread. Call it before the writing connection is closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#thread?.terminate();
  }

  #checkpoint(): void {
    if (this.#isBusy || this.#stopped) return;
    this.#thread ??= this.#start();
    if (!this.#thread) return;
    this.#isBusy = true;
    this.#thread.postMessage('checkpoint');
  }

  #start(): Worker | undefined {
    const size = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size < MIN_WAL_BYTES) return undefined;
    // Opened without the right to create it: a deleted database must not reappear empty.
    const url = `${pathToFileURL(this.#path).href}?mode=rw`;
    const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      workerData: { url },
      env: workerThreadEnv(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const onGone = () => {
      if (this.#stopped) return;
      this.#stopped = true;
      this.#setAutoCheckpoint(MAX_WAL_PAGES.alone);
    };
    thread.on('message', () => {
      this.#isBusy = false;
    });
    thread.once('error', onGone);
    thread.once('exit', onGone);
    thread.unref();
    this.#setAutoCheckpoint(MAX_WAL_PAGES.withThread);
    return thread;
  }

  #setAutoCheckpoint(pages: number): void {
    if (this.#db.isOpen) this.#db.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
  }
}
