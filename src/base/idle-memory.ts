import { getHeapSpaceStatistics } from 'node:v8';
import { collectAll } from './collect-garbage.ts';

/** How often it is looked, in milliseconds. */
const LOOK_MS = 1000;
/** How many looks in a row must find nothing to do after the start. */
const LOOKS = 5;
/**
 * The same later on: what work had warmed up goes with the memory, so that the runs after it cost a fifth more for a while.
 * Work that comes again within minutes is not to pay for that.
 */
const LOOKS_AFTER_WORK = 300;
/** Memory for new objects beyond this is worth a collection, in bytes. */
const WORTH = 8 * 1024 * 1024;

export interface IdleMemoryOptions {
  /** Whether nobody waits for anything. */
  isIdle(): boolean;
  /** Memory set aside for new objects, in bytes; the runtime's where absent. */
  newSpace?(): number;
  /** Collects all garbage; the runtime's own where absent. */
  collect?(): void;
}

/**
 * Gives memory back while nothing is to be done. Work makes the runtime set memory aside for new objects, a start alone
 * some 20 MB, and it keeps that for as long as nothing happens. Giving it back stands the event loop still, so it waits
 * for seconds without work after the start, and for minutes after work has set as much aside again.
 */
export class IdleMemory implements Disposable {
  readonly #options: Required<IdleMemoryOptions>;
  readonly #timer: NodeJS.Timeout;
  #idleLooks = 0;
  #looks = LOOKS;

  constructor(options: IdleMemoryOptions) {
    this.#options = { newSpace: newSpaceBytes, collect: collectAll, ...options };
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Looks once whether there is something to give back; called every second. */
  look(): void {
    const { isIdle, newSpace, collect } = this.#options;
    this.#idleLooks = isIdle() ? this.#idleLooks + 1 : 0;
    if (this.#idleLooks < this.#looks || newSpace() <= WORTH) return;
    this.#idleLooks = 0;
    this.#looks = LOOKS_AFTER_WORK;
    collect();
  }
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}
