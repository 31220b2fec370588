import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackendKind } from './backends.ts';
import { type Fleet, KEY, MODEL, startFleet } from './fleet.ts';
import { questionOf, type ResearchWorld, startResearchWorld } from './research-world.ts';
import { faultsOf, type RunEvidence } from './verify.ts';
import { type Viewed, viewRun } from './viewer.ts';

/** How long after its waking a frozen instance's requests still arrive, in milliseconds. */
const WAKING_MS = 1500;

export type Blow = 'kill' | 'freeze' | 'redis' | 'terminate' | 'partition' | 'slow';

/** The same blows again and again. */
export function* endlessly(blows: readonly Blow[]): Generator<Blow> {
  for (;;) yield* blows;
}

export interface StormOptions {
  backend: BackendKind;
  instances: number;
  runs: number;
  /** Runs under way at a time. */
  concurrent: number;
  /** Done in order, each to an instance by chance, until most runs have ended. */
  blows: Iterable<Blow>;
  /** Pause between two blows, in milliseconds, up to one and a half times as long. */
  calmMs: number;
  /** Milliseconds between two streamed words. */
  pace: number;
  /** Every `n`th run is cancelled at some moment. */
  cancelEvery: number;
  limitMs: number;
  /** How long a killed instance's runs may wait for another, in milliseconds; not looked at where absent. */
  takeoverMs?: number;
  /** How long a viewer may be shown nothing, in milliseconds; not looked at where absent. */
  pauseMs?: number;
  log?(line: string): void;
}

/** What a storm did, and what it broke. */
export interface StormReport {
  faults: string[];
  numbers: Record<string, number>;
}

/** The replay of an ended run takes no longer, in milliseconds. */
const REPLAY_MS = 10_000;
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

/** Runs through a storm: submits, views, cancels, strikes; then checks every promise on every run. */
export async function runStorm(options: StormOptions): Promise<StormReport> {
  await using world = await startResearchWorld({ pace: options.pace, toolMs: 150 });
  await using fleet = await startFleet({ backend: options.backend, instances: options.instances, world });
  const storm = new Storm(options, { world, fleet });
  return await storm.run();
}

interface RunSeen {
  n: number;
  id: string;
  cancelled: boolean;
  viewed: Viewed[];
  doneAt: Map<string, number>;
  turnedAt: Map<number, number>;
}

class Storm {
  readonly #options: StormOptions;
  readonly #world: ResearchWorld;
  readonly #fleet: Fleet;
  readonly #limit: AbortSignal;
  /** When frozen instances were woken, Unix milliseconds. */
  readonly #wokenAt: number[] = [];
  readonly #blows: Record<Blow, number> = { kill: 0, freeze: 0, redis: 0, terminate: 0, partition: 0, slow: 0 };
  readonly #badExits: string[] = [];
  readonly #cancelMs: number[] = [];
  readonly #takeoverMs: number[] = [];
  #refused = 0;
  #redisStruckAt = Number.NEGATIVE_INFINITY;

  constructor(options: StormOptions, parts: { world: ResearchWorld; fleet: Fleet }) {
    this.#options = options;
    this.#world = parts.world;
    this.#fleet = parts.fleet;
    this.#limit = AbortSignal.timeout(options.limitMs);
  }

  async run(): Promise<StormReport> {
    const began = performance.now();
    const over = new AbortController();
    const striking = this.#strike(over.signal);
    const seen = await this.#research({ calm: () => over.abort() });
    await striking;
    const storming = performance.now() - began;
    const faults: string[] = [];
    for (const run of seen) faults.push(...(await this.#faultsOf(run)));
    faults.push(...this.#fleet.complaints().slice(0, 20), ...this.#badExits, ...this.#boundsBroken(seen));
    return { faults, numbers: this.#numbers(seen, storming) };
  }

  /** All runs, some at a time. `calm` is called when nine of ten have ended. */
  async #research({ calm }: { calm(): void }): Promise<RunSeen[]> {
    const { runs, concurrent, log } = this.#options;
    const seen: RunSeen[] = [];
    let next = 0;
    const work = async () => {
      while (next < runs) {
        const n = next++;
        seen.push(await this.#oneRun(n));
        if (seen.length >= runs * 0.9) calm();
        if (seen.length % 50 === 0) log?.(`${seen.length} of ${runs} runs have ended`);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrent, runs) }, work));
    return seen;
  }

  async #oneRun(n: number): Promise<RunSeen> {
    const id = await this.#submit(n);
    const run: RunSeen = { n, id, cancelled: false, viewed: [], doneAt: new Map(), turnedAt: new Map() };
    const view = () =>
      viewRun({
        url: this.#fleet.url,
        id,
        headers: HEADERS,
        dropAfterMs: 4000,
        signal: this.#limit,
        onFrame: (frame) => noteDone(run, frame),
      });
    const cancelling = n % this.#options.cancelEvery === this.#options.cancelEvery - 1 ? this.#cancel(run) : undefined;
    run.viewed = await Promise.all([view(), view()]);
    await cancelling;
    return run;
  }

  /** Submits until it is accepted: the key makes sure that it is one run. */
  async #submit(n: number): Promise<string> {
    const body = JSON.stringify({ model: MODEL, input: questionOf(n), background: true });
    const headers = { ...HEADERS, 'idempotency-key': randomUUID() };
    for (;;) {
      const answer = await this.#ask('/v1/responses', { method: 'POST', headers, body });
      if (answer && typeof answer.id === 'string') return answer.id;
      await delay(200);
    }
  }

  async #cancel(run: RunSeen): Promise<void> {
    await delay(Math.random() * 8000);
    for (;;) {
      const began = performance.now();
      const answer = await this.#ask(`/v1/responses/${run.id}/cancel`, { method: 'POST', headers: HEADERS });
      if (answer) {
        this.#cancelMs.push(performance.now() - began);
        run.cancelled = answer.status === 'cancelled';
        return;
      }
      await delay(200);
    }
  }

  /** The JSON of a 2xx answer; undefined where there was none in time. */
  async #ask(path: string, init: RequestInit): Promise<Record<string, unknown> | undefined> {
    this.#limit.throwIfAborted();
    try {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), connection: 'close' };
      const response = await fetch(this.#fleet.url + path, { ...init, headers, signal: AbortSignal.timeout(5000) });
      if (response.ok) return (await response.json()) as Record<string, unknown>;
    } catch {
      // Cut, or no answer in time.
    }
    this.#refused++;
    return undefined;
  }

  async #strike(over: AbortSignal): Promise<void> {
    const { blows, calmMs, log } = this.#options;
    for (const blow of blows) {
      await delay(calmMs * (0.5 + Math.random()), undefined, { signal: over }).catch(() => {});
      if (over.aborted) return;
      const name = this.#fleet.names[Math.floor(Math.random() * this.#fleet.names.length)] ?? '';
      log?.(blow === 'redis' ? 'Redis is killed' : `${blow} ${name}`);
      this.#blows[blow]++;
      if (blow === 'redis') {
        this.#redisStruckAt = Date.now();
        await this.#fleet.killRedis(200 + Math.random() * 2000);
      } else if (blow === 'terminate') {
        if (!(await this.#fleet.terminateInstance(name))) this.#badExits.push(`${name} did not end with code 0`);
      } else if (blow === 'partition') {
        await this.#fleet.partition(name, 500 + Math.random() * 6000);
        // What was on its way arrives now, as with one that was frozen.
        this.#wokenAt.push(Date.now());
      } else if (blow === 'slow') {
        await this.#fleet.slowDown(name, { ms: 2000 + Math.random() * 4000, latencyMs: 50 + Math.random() * 400 });
      } else if (blow === 'freeze') {
        await this.#fleet.freezeInstance(name, 1000 + Math.random() * 7000);
        this.#wokenAt.push(Date.now());
      } else {
        const watched = this.#watchTakeover(name);
        await this.#fleet.killInstance(name, 300 + Math.random() * 1500);
        void watched;
      }
    }
  }

  /** Measures how long it takes until another process asks for the next turn of the runs that died with `name`. */
  async #watchTakeover(name: string): Promise<void> {
    const killedAt = Date.now();
    const orphans = [...this.#world.turns].filter(([, turns]) => {
      const last = turns.at(-1);
      return last?.instance === name && killedAt - last.at < 1000;
    });
    await delay(12_000, undefined, { ref: false });
    if (this.#redisStruckAt > killedAt - 8000) return;
    for (const [run] of orphans) {
      const turn = this.#world.turns.get(run)?.find(({ at }) => at > killedAt);
      if (turn) this.#takeoverMs.push(turn.at - killedAt);
    }
  }

  async #faultsOf(run: RunSeen): Promise<string[]> {
    const response = await fetch(`${this.#fleet.url}/v1/responses/${run.id}`, { headers: HEADERS });
    const snapshot = (await response.json()) as RunEvidence['snapshot'];
    const faults =
      snapshot.status === 'in_progress'
        ? [`run ${run.n} (${run.id}) has not ended`]
        : faultsOf(await this.#evidenceOf(run, snapshot));
    if (faults.length > 0) faults.push(...this.#fleet.linesAbout(run.id.replace('resp_', '')));
    return faults;
  }

  async #evidenceOf(run: RunSeen, snapshot: RunEvidence['snapshot']): Promise<RunEvidence> {
    const replays = await Promise.all(
      this.#fleet.names.map(async (name) => {
        const url = `${this.#fleet.urlOf(name)}/v1/responses/${run.id}?stream=true`;
        const response = await fetch(url, { headers: HEADERS, signal: AbortSignal.timeout(REPLAY_MS) });
        const text = await response.text();
        return Buffer.from(text.replaceAll(/^:[^\n]*\n\n/gm, ''));
      }),
    );
    const executions = new Map(
      [...this.#world.executions]
        .filter(([key]) => key.startsWith(`${run.n}/`))
        .map(([key, times]) => [key, times.filter((time) => !this.#sentBeforeFreeze(time))]),
    );
    const asked = new Map<number, number[]>();
    for (const { step, at } of this.#world.turns.get(run.n) ?? []) {
      if (step === undefined || this.#sentBeforeFreeze(at)) continue;
      asked.set(step, [...(asked.get(step) ?? []), at]);
    }
    const viewed = run.viewed.map(({ bytes }) => bytes);
    return { ...run, replays, viewed, snapshot, executions, asked };
  }

  /** A request that was on its way when its instance was frozen arrives once it is woken: nobody can call it back. */
  #sentBeforeFreeze(time: number): boolean {
    return this.#wokenAt.some((woken) => time > woken - WAKING_MS && time < woken + WAKING_MS);
  }

  #boundsBroken(seen: readonly RunSeen[]): string[] {
    const { takeoverMs, pauseMs } = this.#options;
    const slowest = Math.max(0, ...this.#takeoverMs);
    const longest = Math.max(0, ...seen.flatMap((run) => run.viewed.map((viewer) => viewer.longestPauseMs)));
    const broken: string[] = [];
    if (takeoverMs !== undefined && slowest > takeoverMs) broken.push(`a takeover took ${Math.round(slowest)} ms`);
    if (pauseMs !== undefined && longest > pauseMs) broken.push(`a viewer saw nothing for ${Math.round(longest)} ms`);
    return broken;
  }

  #numbers(seen: readonly RunSeen[], ms: number): Record<string, number> {
    const viewed = seen.flatMap((run) => run.viewed);
    const executions = [...this.#world.executions.values()];
    return {
      runs: seen.length,
      seconds: round(ms / 1000),
      'instances killed': this.#blows.kill,
      'instances frozen': this.#blows.freeze,
      'instances stopped in order': this.#blows.terminate,
      partitions: this.#blows.partition,
      'slow ways to the store': this.#blows.slow,
      'Redis killed': this.#blows.redis,
      viewers: viewed.length,
      'connections of viewers': viewed.reduce((sum, viewer) => sum + viewer.connections, 0),
      'requests refused or cut': this.#refused,
      'events seen': seen.reduce((sum, run) => sum + countEvents(run), 0),
      'turns looked at for a second payment': seen.reduce((sum, run) => sum + run.turnedAt.size, 0),
      'tool calls': executions.length,
      'tool calls repeated unfinished': executions.filter((times) => times.length > 1).length,
      cancelled: seen.filter((run) => run.cancelled).length,
      'slowest cancel, ms': round(Math.max(0, ...this.#cancelMs)),
      'longest pause of a viewer, ms': round(Math.max(0, ...viewed.map((viewer) => viewer.longestPauseMs))),
      'takeovers measured': this.#takeoverMs.length,
      'slowest takeover, ms': round(Math.max(0, ...this.#takeoverMs)),
    };
  }
}

function noteDone(run: RunSeen, frame: string): void {
  // A tool call that begins: the turn that asked for it is over and stored.
  const step = /^event: response\.output_item\.added\n.*\\"key\\":\\"\d+\/(\d+)\/\d+\\"/s.exec(frame)?.[1];
  if (step !== undefined && !run.turnedAt.has(Number(step))) run.turnedAt.set(Number(step), Date.now());
  // A call that failed was cut by a cancel: it has no end of its own.
  if (!frame.startsWith('event: response.output_item.done\n') || !frame.includes('"status":"completed"')) return;
  const key = /\\"key\\":\\"([\d/]+)\\"/.exec(frame)?.[1];
  if (key !== undefined && !run.doneAt.has(key)) run.doneAt.set(key, Date.now());
}

function countEvents(run: RunSeen): number {
  return run.viewed[0]?.bytes.toString('latin1').split('\n\n').length ?? 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
