import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import type { ResearchWorld } from './research-world.ts';

/**
 * What is done to a fleet: `kill -9`, SIGSTOP and SIGTERM of an instance, `kill -9` of one of its workers, a partition between it and its store, a slow
 * way there; `kill -9` of a Redis server, and one that hangs. Where there is a replica, it takes over meanwhile.
 */
export type Disruption = 'kill' | 'worker' | 'freeze' | 'terminate' | 'partition' | 'slow' | 'redis' | 'hang';

/** How long after its waking a frozen instance's requests still arrive, in milliseconds. */
const WAKING_MS = 1500;
/** How long runs are watched after their instance was killed, in milliseconds. */
const WATCH_MS = 12_000;
/** A takeover is not measured where its store was away or slow within this time after the kill, in milliseconds. */
const STORE_AWAY_MS = 6000;

/** The same disruptions again and again. */
export function* endlessly(disruptions: readonly Disruption[]): Generator<Disruption> {
  for (;;) yield* disruptions;
}

interface Struck {
  disruption: Disruption;
  name: string;
  from: number;
  to: number;
}

/** A run that went on in another process after its instance was killed. */
export interface Takeover {
  run: number;
  by: string;
  ms: number;
  /** When it went on, in Unix milliseconds. */
  until: number;
}

export interface DisruptionsOptions {
  disruptions: Iterable<Disruption>;
  calmMs: number;
  log?(line: string): void;
}

/** The disruptions of a storm: when each began and ended, and how long recovery took. */
export class Disruptions {
  readonly #options: DisruptionsOptions;
  readonly #fleet: Fleet;
  readonly #world: ResearchWorld;
  readonly #struck: Struck[] = [];
  readonly #watches: Promise<void>[] = [];
  readonly badExits: string[] = [];
  readonly takeovers: Takeover[] = [];

  constructor(options: DisruptionsOptions, parts: { fleet: Fleet; world: ResearchWorld }) {
    this.#options = options;
    this.#fleet = parts.fleet;
    this.#world = parts.world;
  }

  async strike(over: AbortSignal): Promise<void> {
    const { disruptions, calmMs, log } = this.#options;
    for (const disruption of disruptions) {
      await delay(calmMs * (0.5 + Math.random()), undefined, { signal: over }).catch(() => {});
      if (over.aborted) return;
      const name = this.#fleet.names[Math.floor(Math.random() * this.#fleet.names.length)] ?? '';
      log?.(`${disruption}${disruption === 'redis' || disruption === 'hang' ? '' : ` ${name}`}`);
      const struck = { disruption, name, from: Date.now(), to: Number.POSITIVE_INFINITY };
      this.#struck.push(struck);
      await this.#do(disruption, name);
      struck.to = Date.now();
    }
  }

  async #do(disruption: Disruption, name: string): Promise<void> {
    const fleet = this.#fleet;
    switch (disruption) {
      case 'redis':
        return await fleet.killRedis(200 + Math.random() * 2000);
      case 'hang':
        return await fleet.hangRedis(500 + Math.random() * 4000);
      case 'terminate':
        if (!(await fleet.terminateInstance(name))) this.badExits.push(`${name} did not end with code 0`);
        return;
      case 'partition':
        return await fleet.partition(name, 500 + Math.random() * 6000);
      case 'slow':
        return await fleet.slowDown(name, { ms: 2000 + Math.random() * 4000, latencyMs: 50 + Math.random() * 400 });
      case 'freeze':
        return await fleet.freezeInstance(name, 1000 + Math.random() * 7000);
      case 'worker':
        return await fleet.killWorker(name);
      case 'kill':
        await this.#kill(name);
    }
  }

  async #kill(name: string): Promise<void> {
    const back = Promise.withResolvers<void>();
    this.#watches.push(this.#watchTakeover(name, back.promise));
    await this.#fleet.killInstance(name, 300 + Math.random() * 1500);
    back.resolve();
  }

  /**
   * How long it takes until another process asks for the next turn of the runs that died with `name`; where there is no
   * other one, from the moment that it is `back`.
   */
  async #watchTakeover(name: string, back: Promise<void>): Promise<void> {
    const killedAt = Date.now();
    const orphans = [...this.#world.turns].filter(([, turns]) => {
      const last = turns.at(-1);
      return last?.instance === name && last.endedAt === undefined && !last.chat;
    });
    const single = this.#fleet.names.length === 1;
    if (single) await back;
    const from = single ? Date.now() : killedAt;
    await delay(WATCH_MS);
    const disturbed = this.#struck.some((each) => {
      // The next death of the only instance is measured by itself.
      if (each.disruption === 'kill' || each.disruption === 'freeze' || each.disruption === 'terminate')
        return single && each.from > from && each.from < from + STORE_AWAY_MS;
      return each.from < killedAt + STORE_AWAY_MS && each.to > killedAt - 1000;
    });
    if (disturbed) return;
    for (const [run] of orphans) {
      const turn = this.#world.turns.get(run)?.find(({ at }) => at > killedAt);
      // Who had taken it up and was struck itself has to be waited for once more.
      if (!turn || (turn.instance !== name && this.stoodStill(turn.instance, killedAt, turn.at))) continue;
      this.takeovers.push({ run, by: turn.instance, ms: Math.max(0, turn.at - from), until: turn.at });
    }
  }

  /** Resolves when every takeover has been measured. */
  async watched(): Promise<void> {
    await Promise.all(this.#watches);
  }

  /** A request that this instance had sent when it was frozen arrives once it is woken: nobody can call it back. */
  sentBeforeFreeze({ instance, at }: { instance: string; at: number }): boolean {
    return this.#struck.some(
      ({ disruption, name, to }) =>
        disruption === 'freeze' && (name === instance || instance === '') && at > to - 100 && at < to + WAKING_MS,
    );
  }

  /** Whether an instance could not act at some moment in this time, in Unix milliseconds. */
  stoodStill(instance: string, from: number, to: number): boolean {
    return this.#struck.some(
      (each) =>
        (each.disruption === 'freeze' || each.disruption === 'kill') &&
        each.name === instance &&
        each.from <= to &&
        each.to >= from,
    );
  }

  /** What happened in a pause, for whoever has to find out why it was so long. */
  around({ ms, until }: { ms: number; until: number }): string[] {
    return this.#struck
      .filter(({ from, to }) => from <= until && to >= until - ms - 5000)
      .map(
        ({ disruption, name, from, to }) =>
          `  ${disruption} ${name}, ${until - from} to ${until - to} ms before its end`,
      );
  }

  get counts(): Record<string, number> {
    const of = (disruption: Disruption) => this.#struck.filter((each) => each.disruption === disruption).length;
    return {
      'instances killed': of('kill'),
      'workers killed': of('worker'),
      'instances frozen': of('freeze'),
      'instances stopped in order': of('terminate'),
      partitions: of('partition'),
      'slow ways to the store': of('slow'),
      'Redis killed': of('redis'),
      'Redis hung': of('hang'),
    };
  }
}
