/**
 * What is written during one turn of the event loop goes out together at its end. Each write to a socket wakes its
 * reader, which has emptied it and sleeps again before the next write of a busy process: one wake-up costs as much as the
 * work for a small answer, and one for all of a turn saves a fifth of that work. Where a process has one thing to do at a
 * time, waiting for the end of the turn would only cost a turn.
 */

/** After so many turns in a row with a single piece of work the next goes out at once. */
const ALONE_TURNS = 4;
/** Of what goes out at once each n-th waits all the same, to see whether others come in its turn again. */
const PROBE_EVERY = 8;

interface TurnEndOptions {
  /** Calls `run` at the end of the turn. */
  schedule(run: () => void): void;
  failed(thrown: unknown): void;
}

/** The work of a turn; the process has one, `atTurnEnd`. */
export class TurnEnd {
  readonly #schedule: (run: () => void) => void;
  readonly #failed: (thrown: unknown) => void;
  #waiting: (() => void)[] = [];
  /** Turns in a row with a single piece of work. */
  #alone = 0;
  #atOnce = 0;

  /** `failed` is told what work throws: by default it is uncaught, like what any callback throws. */
  constructor({ schedule = setImmediate, failed = throwLater }: Partial<TurnEndOptions> = {}) {
    this.#schedule = schedule;
    this.#failed = failed;
  }

  /** Has `work` done at the end of this turn; false where it is not worth waiting for. */
  join(work: () => void): boolean {
    if (this.#waiting.length === 0) {
      if (this.#alone >= ALONE_TURNS && ++this.#atOnce % PROBE_EVERY !== 0) return false;
      this.#schedule(() => this.#run());
    }
    this.#waiting.push(work);
    return true;
  }

  #run(): void {
    const all = this.#waiting;
    this.#waiting = [];
    this.#alone = all.length > 1 ? 0 : this.#alone + 1;
    for (const work of all) {
      try {
        work();
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
  }
}

function throwLater(thrown: unknown): void {
  process.nextTick(() => {
    throw thrown;
  });
}

const turnEnd = new TurnEnd();

/** Does `work` at the end of this turn of the event loop, together with others, or at once. */
export function atTurnEnd(work: () => void): void {
  if (!turnEnd.join(work)) work();
}

/** What is written to this socket goes out at the end of this turn, together with what is written to others. */
export function writeAtTurnEnd(socket: { writableCorked: number; cork(): void; uncork(): void }): void {
  if (socket.writableCorked === 0 && turnEnd.join(() => socket.uncork())) socket.cork();
}

/**
 * Does `work` when all that this turn of the event loop leaves for its end is done: what is written to a socket itself
 * would overtake an answer that waits.
 */
export function afterTurnEnd(work: () => void): void {
  // The first may come before the end of this turn was asked for, the second is of the next one.
  setImmediate(() => setImmediate(work));
}
