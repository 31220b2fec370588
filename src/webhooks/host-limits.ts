import type { RunId } from '../base/ids.ts';

/** How many runs are delivered at once: to all hosts, to one, and to one that is slow. */
const MAX_IN_FLIGHT = { ofAll: 256, ofOne: 32, ofSlow: 8 } as const;
/** How many runs wait for a host to have room, for one host and for all. */
const MAX_WAITING = { ofOne: 256, ofAll: 4096 } as const;
/** A host with requests in flight counts as slow after this long without an answer, in milliseconds. */
const SLOW_MS = 5000;

/** A run that waits for a host: its user, and the time until which it may wait, by `performance.now()`. */
interface WaitingRun {
  run: RunId;
  user: string;
  until: number;
}

interface Host {
  inFlight: number;
  /** Since when it has had requests in flight, and when it last answered, by `performance.now()`. */
  busySince: number;
  answeredAt: number;
  /** In the order of their turns. */
  waiting: (WaitingRun & { turn: number })[];
}

/**
 * Limits how many deliveries go to each host at a time, and holds those that wait. A host gets at most half of the free
 * capacity, so that one that does not answer never holds up the others. Users whose runs wait for a host take turns: it may
 * have many receivers.
 */
export class HostLimits {
  readonly #hosts = new Map<string, Host>();
  #inFlight = 0;
  #waiting = 0;

  /**
   * Acquires capacity of these hosts, until disposed. If one of them is at its limit, the run waits here (`waits`). If too
   * many wait, it stays in the store: to be retried `soon` if the host answers, `later`, after its lease, if it is slow.
   */
  acquire(names: readonly string[], entry: WaitingRun): Disposable | 'waits' | 'soon' | 'later' {
    const hosts = names.map((name) => this.#host(name));
    const busy = hosts.find((host) => this.#roomOf(host, performance.now()) <= 0);
    if (busy) {
      const isFull = busy.waiting.length >= MAX_WAITING.ofOne && busy.waiting.some(({ user }) => user === entry.user);
      if (isFull || this.#waiting >= MAX_WAITING.ofAll) return isSlow(busy, performance.now()) ? 'later' : 'soon';
      enqueue(entry, busy.waiting);
      this.#waiting += 1;
      return 'waits';
    }
    this.#inFlight += 1;
    for (const host of hosts) {
      if (host.inFlight === 0) host.busySince = performance.now();
      host.inFlight += 1;
    }
    return {
      [Symbol.dispose]: () => {
        this.#inFlight -= 1;
        for (const host of hosts) host.inFlight -= 1;
        for (const name of names) this.#forget(name);
      },
    };
  }

  noteAnswer(name: string): void {
    const host = this.#hosts.get(name);
    if (host) host.answeredAt = performance.now();
  }

  /** Takes the waiting runs whose host has room now. */
  next(): WaitingRun[] {
    const now = performance.now();
    const ready: WaitingRun[] = [];
    for (const [name, host] of this.#hosts) {
      const room = this.#roomOf(host, now) - ready.length;
      const taken = room > 0 ? host.waiting.splice(0, room) : [];
      this.#waiting -= taken.length;
      ready.push(...taken.filter(({ until }) => until > now));
      this.#forget(name);
    }
    return ready;
  }

  /** Whether many runs wait for a host that answers; then taking more, which may be for the same host, is no use. */
  get isBusy(): boolean {
    const now = performance.now();
    return [...this.#hosts.values()].some(
      ({ waiting, answeredAt }) => waiting.length >= MAX_WAITING.ofOne / 2 && now - answeredAt < SLOW_MS,
    );
  }

  /** At most half of the free capacity, so that the next host gets some, too. */
  #roomOf(host: Host, now: number): number {
    const max = isSlow(host, now) ? MAX_IN_FLIGHT.ofSlow : MAX_IN_FLIGHT.ofOne;
    const free = MAX_IN_FLIGHT.ofAll - this.#inFlight;
    return Math.min(max - host.inFlight, Math.ceil((free - host.inFlight) / 2));
  }

  #host(name: string): Host {
    const unknown = () => ({ inFlight: 0, busySince: 0, answeredAt: -Infinity, waiting: [] });
    return this.#hosts.getOrInsertComputed(name, unknown);
  }

  #forget(name: string): void {
    const host = this.#hosts.get(name);
    if (host?.inFlight === 0 && host.waiting.length === 0) this.#hosts.delete(name);
  }
}

/** Adds a run behind those of its user, and behind one run of each other user for each of those. */
function enqueue(entry: WaitingRun, waiting: Host['waiting']): void {
  const last = waiting.findLast(({ user }) => user === entry.user)?.turn ?? -1;
  const turn = Math.max(last + 1, waiting[0]?.turn ?? 0);
  waiting.splice(waiting.findLastIndex((other) => other.turn <= turn) + 1, 0, { ...entry, turn });
}

function isSlow({ inFlight, busySince, answeredAt }: Host, now: number): boolean {
  return inFlight > 0 && now - Math.max(busySince, answeredAt) >= SLOW_MS;
}
