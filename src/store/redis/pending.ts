/** How often deadlines are looked at, in milliseconds. */
const CHECK_EVERY_MS = 100;

/** A command that waits for its reply. */
interface Entry {
  deadline: number;
  fail(): void;
}

/**
 * Deadlines of commands in flight, with one timer for all: the client's own `timeout` ends once a command is written,
 * and a frozen Redis then keeps it for ever.
 */
export class PendingCommands implements Disposable {
  readonly #onOverdue: () => void;
  readonly #entries = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;
  #checkedAt = 0;

  /** `onOverdue` is called after commands have failed for their deadline. */
  constructor(onOverdue: () => void) {
    this.#onOverdue = onOverdue;
  }

  /** Calls `fail` after `limitMs` unless the returned function is called first. */
  add(limitMs: number, fail: () => void): () => void {
    const now = performance.now();
    const entry: Entry = { deadline: now + limitMs, fail };
    this.#entries.add(entry);
    if (!this.#timer) {
      this.#checkedAt = now;
      this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS);
      this.#timer.unref();
    }
    return () => void this.#entries.delete(entry);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#entries.clear();
  }

  #check(): void {
    const now = performance.now();
    const pause = now - this.#checkedAt;
    this.#checkedAt = now;
    if (this.#entries.size === 0) {
      // Here and not with the last reply: under load a timer for each command would cost more than the command.
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    // This process itself stood still (frozen, or a long computation): the replies may be waiting in the socket.
    if (pause > 4 * CHECK_EVERY_MS) {
      for (const entry of this.#entries) entry.deadline += pause;
      return;
    }
    const overdue = [...this.#entries].filter((entry) => entry.deadline <= now);
    for (const entry of overdue) this.#entries.delete(entry);
    for (const entry of overdue) entry.fail();
    if (overdue.length > 0) this.#onOverdue();
  }
}
