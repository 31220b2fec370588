import type { RunId } from '../base/ids.ts';

/** Runs that are told at once: of all hosts, of one, and of one that is slow. */
const AT_ONCE = { ofAll: 256, ofOne: 32, ofSlow: 8 } as const;
/** Runs that are kept for when a host has room, of one and of all. */
const ASIDE = { ofOne: 256, ofAll: 4096 } as const;
/** A host is slow that has answered nothing for so long while it was asked, in milliseconds. */
const SLOW_MS = 5000;

interface Host {
  underWay: number;
  /** When it began to be asked, and when it last answered, by `performance.now()`. */
  askedAt: number;
  answeredAt: number;
  /** Runs that wait for it, each with the time until which it is this instance's alone. */
  aside: { run: RunId; until: number }[];
}

/**
 * How many deliveries go to each host at a time, and which of them wait: one host gets no more than it leaves for
 * others, so that one that does not answer holds up no other.
 */
export class Hosts {
  readonly #hosts = new Map<string, Host>();
  #underWay = 0;
  #aside = 0;

  /**
   * Begins to tell these hosts of a run, until disposed. Where one of them has enough to do, the run is kept for later
   * (`waits`), or, where too many are, left: for a moment where the host is expected to answer (`soon`), else until it
   * is not this instance's alone any more (`later`).
   */
  begin(names: readonly string[], waiting: { run: RunId; until: number }): Disposable | 'waits' | 'soon' | 'later' {
    const hosts = names.map((name) => this.#host(name));
    const busy = hosts.find((host) => this.#roomOf(host, performance.now()) <= 0);
    if (busy) {
      if (busy.aside.length >= ASIDE.ofOne || this.#aside >= ASIDE.ofAll) {
        return isSlow(busy, performance.now()) ? 'later' : 'soon';
      }
      busy.aside.push(waiting);
      this.#aside += 1;
      return 'waits';
    }
    this.#underWay += 1;
    for (const host of hosts) {
      if (host.underWay === 0) host.askedAt = performance.now();
      host.underWay += 1;
    }
    return {
      [Symbol.dispose]: () => {
        this.#underWay -= 1;
        for (const host of hosts) host.underWay -= 1;
        for (const name of names) this.#forget(name);
      },
    };
  }

  answered(name: string): void {
    const host = this.#hosts.get(name);
    if (host) host.answeredAt = performance.now();
  }

  /** The runs that were kept and whose host has room now. */
  next(): { run: RunId; until: number }[] {
    const now = performance.now();
    const found: { run: RunId; until: number }[] = [];
    for (const [name, host] of this.#hosts) {
      const room = this.#roomOf(host, now) - found.length;
      const taken = room > 0 ? host.aside.splice(0, room) : [];
      this.#aside -= taken.length;
      found.push(...taken.filter(({ until }) => until > now));
      this.#forget(name);
    }
    return found;
  }

  /** Whether it is better to wait for a host that answers than to take more runs, which may be its own. */
  get isBusy(): boolean {
    const now = performance.now();
    return [...this.#hosts.values()].some(
      ({ aside, answeredAt }) => aside.length >= ASIDE.ofOne / 2 && now - answeredAt < SLOW_MS,
    );
  }

  /** Of what is left, half: as much again is there for a host that comes next. */
  #roomOf(host: Host, now: number): number {
    const most = isSlow(host, now) ? AT_ONCE.ofSlow : AT_ONCE.ofOne;
    const left = AT_ONCE.ofAll - this.#underWay;
    return Math.min(most - host.underWay, Math.ceil((left - host.underWay) / 2));
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? { underWay: 0, askedAt: 0, answeredAt: Number.NEGATIVE_INFINITY, aside: [] };
    this.#hosts.set(name, host);
    return host;
  }

  #forget(name: string): void {
    const host = this.#hosts.get(name);
    if (host?.underWay === 0 && host.aside.length === 0) this.#hosts.delete(name);
  }
}

function isSlow({ underWay, askedAt, answeredAt }: Host, now: number): boolean {
  return underWay > 0 && now - Math.max(askedAt, answeredAt) >= SLOW_MS;
}
