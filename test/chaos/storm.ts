import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackendKind } from './backends.ts';
import { type ClientKind, type ClientSeen, Clients, type SeenRun } from './clients.ts';
import { type Disruption, Disruptions } from './disruptions.ts';
import { type Fleet, MODEL, startFleet } from './fleet.ts';
import { questionOf, type ResearchWorld, startResearchWorld } from './research-world.ts';
import { faultsOf, faultsOfLeft, isPaidLate, type RunEvidence, toldOf } from './verify.ts';
import { WebhookReceivers } from './webhook-receivers.ts';

export interface StormOptions {
  backend: BackendKind;
  instances: number;
  /** Processes of each instance. */
  workers?: number;
  runs: number;
  /** Runs under way at a time. */
  concurrent: number;
  /** Done in order, each to an instance by chance, until most runs have ended. */
  disruptions: Iterable<Disruption>;
  /** Pause between two disruptions, in milliseconds, up to one and a half times as long. */
  calmMs: number;
  /** Milliseconds between two streamed words. */
  pace: number;
  /** Of the viewed runs so many are cancelled at some moment, one in this number. */
  cancelEvery: number;
  limitMs: number;
  /** How long a killed instance's runs may wait for another, in milliseconds; not looked at where absent. */
  takeoverMs?: number;
  /** How long a viewer may be shown nothing, in milliseconds; not looked at where absent. */
  pauseMs?: number;
  /** How long a provider may be paid for a chat whose client has left, in milliseconds; not looked at where absent. */
  leaveMs?: number;
  /** How long receivers may wait after the storm to be told of every end, in milliseconds; not looked at where absent. */
  tellMs?: number;
  log?(line: string): void;
}

/** What a storm did, and what it broke. */
export interface StormReport {
  faults: string[];
  numbers: Record<string, number>;
}

/** The replay of an ended run takes no longer, in milliseconds. */
const REPLAY_MS = 10_000;
/** Places of runs that died before they were stored are free by then, in milliseconds. */
const PLACES_MS = 90_000;
/** What a chat uses at most, or has reserved: over Redis that is kept for a while where its instance was killed. */
const MOST_TOKENS = 20_000;
/** Runs whose evidence is looked at together. */
const CHECKED_AT_ONCE = 8;
/** Of sixteen clients. */
const KINDS: readonly ClientKind[] = [
  ...(['viewed', 'plain', 'blocking', 'conversation', 'leaving chat', 'viewed', 'socket', 'plain'] as const),
  ...(['viewed', 'unstored socket', 'chat', 'conversation', 'blocking', 'viewed', 'plain', 'socket'] as const),
];

/** Whose turns may belong to no run that is there behind the storm. */
const OF_NO_RUN: ReadonlySet<ClientKind> = new Set(['chat', 'leaving chat', 'socket', 'unstored socket']);

function kindOf(n: number): ClientKind {
  return KINDS[n % KINDS.length] ?? 'viewed';
}

/** Runs through a storm: clients of all kinds and disruptions; then checks every promise on every run. */
export async function runStorm(options: StormOptions): Promise<StormReport> {
  await using world = await startResearchWorld({
    pace: options.pace,
    toolMs: 150,
    isChat: (n) => kindOf(n).endsWith('chat'),
  });
  await using receivers = await WebhookReceivers.start();
  await using fleet = await startFleet({ workers: 1, ...options, world, receivers });
  return await new Storm(options, { world, fleet, receivers }).run();
}

class Storm {
  readonly #options: StormOptions;
  readonly #world: ResearchWorld;
  readonly #fleet: Fleet;
  readonly #receivers: WebhookReceivers;
  readonly #clients: Clients;
  readonly #disruptions: Disruptions;

  constructor(options: StormOptions, parts: { world: ResearchWorld; fleet: Fleet; receivers: WebhookReceivers }) {
    this.#options = options;
    this.#world = parts.world;
    this.#fleet = parts.fleet;
    this.#receivers = parts.receivers;
    this.#clients = new Clients({
      ...parts,
      limit: AbortSignal.timeout(options.limitMs),
      impatienceMs: 4000,
    });
    this.#disruptions = new Disruptions(options, parts);
  }

  async run(): Promise<StormReport> {
    const began = performance.now();
    const over = new AbortController();
    const striking = this.#disruptions.strike(over.signal);
    const seen = await this.#ask({ calm: () => over.abort() });
    await striking;
    await this.#disruptions.watched();
    const storming = performance.now() - began;
    const load = loadavg()[0] ?? 0;
    const faults: string[] = [];
    for (let start = 0; start < seen.length; start += CHECKED_AT_ONCE) {
      const some = seen.slice(start, start + CHECKED_AT_ONCE);
      for (const found of await Promise.all(some.map((each) => this.#faultsOf(each)))) faults.push(...found);
    }
    faults.push(
      ...(await this.#askedTwice(seen)),
      ...this.#fleet.complaints().slice(0, 20),
      ...this.#disruptions.badExits,
    );
    faults.push(...this.#boundsBroken(seen));
    const { tellMs } = this.#options;
    if (tellMs !== undefined) {
      faults.push(...(await this.#receivers.faults(seen, tellMs)), ...(await this.#limitBroken(seen)));
      faults.push(...(await this.#placesKept()));
    }
    if (faults.length > 0) faults.unshift(...this.#fleet.troubles());
    return { faults, numbers: this.#numbers(seen, { ms: storming, load }) };
  }

  /** All clients, some at a time. `calm` is called when nine of ten have what they wanted. */
  async #ask({ calm }: { calm(): void }): Promise<ClientSeen[]> {
    const { runs, concurrent, cancelEvery, log } = this.#options;
    const seen: ClientSeen[] = [];
    let next = 0;
    const work = async () => {
      while (next < runs) {
        const n = next++;
        const kind = kindOf(n);
        seen.push(await this.#clients.ask(n, { kind, cancel: Math.random() < 1 / cancelEvery }));
        if (seen.length >= runs * 0.9) calm();
        if (seen.length % 50 === 0) log?.(`${seen.length} of ${runs} clients are through`);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrent, runs) }, work));
    return seen;
  }

  async #faultsOf(seen: ClientSeen): Promise<string[]> {
    const faults = seen.faults.map((fault) => `client ${seen.n} (${seen.kind}): ${fault}`);
    if (seen.kind.endsWith('chat')) {
      const turns = this.#world.turns.get(seen.n) ?? [];
      faults.push(...faultsOfLeft(seen, { turns, leaveMs: this.#options.leaveMs, disruptions: this.#disruptions }));
    }
    for (const run of seen.runs) faults.push(...(await this.#faultsOfRun(seen, run)));
    return faults;
  }

  async #faultsOfRun(seen: ClientSeen, run: SeenRun): Promise<string[]> {
    const { n, id } = run;
    const response = await fetch(`${this.#fleet.url}/v1/responses/${id}`, { headers: this.#fleet.headers });
    const snapshot = (await response.json()) as RunEvidence['snapshot'];
    const faults =
      snapshot.status === 'in_progress'
        ? [`run ${n} (${id}) has not ended`]
        : faultsOf(await this.#evidenceOf(seen, run, snapshot));
    if (faults.length > 0) faults.push(...this.#fleet.linesAbout(id.replace('resp_', '')));
    return faults;
  }

  async #evidenceOf(seen: ClientSeen, run: SeenRun, snapshot: RunEvidence['snapshot']): Promise<RunEvidence> {
    const { n } = run;
    const replays = await Promise.all(
      this.#fleet.names.map(async (name) => {
        const url = `${this.#fleet.urlOf(name)}/v1/responses/${run.id}?stream=true`;
        const response = await fetch(url, { headers: this.#fleet.headers, signal: AbortSignal.timeout(REPLAY_MS) });
        const text = await response.text();
        return Buffer.from(text.replaceAll(/^:[^\n]*\n\n/gm, ''));
      }),
    );
    const executions = new Map(
      [...this.#world.executions]
        .filter(([key]) => key.startsWith(`${n}/`))
        .map(([key, all]) => [
          key,
          all.filter((each) => !this.#disruptions.sentBeforeFreeze(each)).map(({ at }) => at),
        ]),
    );
    const asked = new Map<string, number[]>();
    const late: string[] = [];
    for (const turn of this.#world.turns.get(n) ?? []) {
      if (this.#disruptions.sentBeforeFreeze(turn)) continue;
      if (isPaidLate(turn, seen.goneAt)) late.push(toldOf(turn, seen.goneAt));
      const key = `${n}/${turn.step}`;
      if (turn.step !== undefined) asked.set(key, [...(asked.get(key) ?? []), turn.at]);
    }
    const { doneAt, turnedAt } = seen;
    const viewed = run.viewed.map(({ bytes }) => bytes);
    // A run that its client does not know of may ask for the same.
    const known = seen.strays ? { late: [], asked: new Map(), executions: new Map() } : { late, asked, executions };
    return { ...run, doneAt, turnedAt, replays, viewed, snapshot, ...known };
  }

  /** Questions that became more than one run, by the list of all runs. */
  async #askedTwice(seen: readonly ClientSeen[]): Promise<string[]> {
    const runs = new Map<string, string[]>();
    for (let after = ''; ; ) {
      const url = `${this.#fleet.url}/v1/responses?limit=100${after && `&after=${after}`}`;
      const page = (await (await fetch(url, { headers: this.#fleet.headers })).json()) as {
        data: { id: string; metadata: { question?: string } }[];
        has_more: boolean;
      };
      for (const { id, metadata } of page.data) {
        const question = metadata.question ?? '';
        runs.set(question, [...(runs.get(question) ?? []), id]);
      }
      after = page.data.at(-1)?.id ?? '';
      if (!page.has_more || after === '') break;
    }
    return seen.flatMap((each) =>
      each.runs.flatMap(({ question }) => {
        const ids = runs.get(question) ?? [];
        return ids.length === 1 ? [] : [`question ${question} became ${ids.length} runs: ${ids.join(', ')}`];
      }),
    );
  }

  /** The limit of the key counts what its runs used, and no more than chats may have used besides. */
  async #limitBroken(seen: readonly ClientSeen[]): Promise<string[]> {
    let ofRuns = 0;
    for (const { id } of seen.flatMap((each) => each.runs)) {
      const answer = await fetch(`${this.#fleet.url}/v1/responses/${id}`, { headers: this.#fleet.headers });
      ofRuns += ((await answer.json()) as { usage: { total_tokens: number } }).usage.total_tokens;
    }
    const used = await this.#fleet.used('tokens_per_day');
    const others = [...this.#world.turns]
      .filter(([n]) => OF_NO_RUN.has(kindOf(n)))
      .reduce((sum, [, turns]) => sum + turns.length, 0);
    if (used >= ofRuns && used <= ofRuns + others * MOST_TOKENS) return [];
    return [`the key used ${used} tokens, its runs ${ofRuns} and ${others} turns of chats and sockets`];
  }

  /** Nothing runs any more: with a limit of one run at a time the key gets its place, and nothing keeps it. */
  async #placesKept(): Promise<string[]> {
    const { url, headers } = this.#fleet;
    await this.#fleet.limit({ concurrent_runs: 1 });
    const body = JSON.stringify({ model: MODEL, input: questionOf(0), stream: false });
    // What killed processes held is free once it stands in somebody's way.
    const isFree = async () => {
      const answer = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
      await answer.text();
      return answer.ok && (await this.#fleet.used('concurrent_runs')) === 0;
    };
    return (await within(PLACES_MS, isFree)) ? [] : ['a place of concurrent_runs is kept'];
  }

  #boundsBroken(seen: readonly ClientSeen[]): string[] {
    const { takeoverMs, pauseMs } = this.#options;
    const pause = longestPause(seen);
    const broken: string[] = [];
    for (const takeover of this.#disruptions.takeovers) {
      const { run, by, ms } = takeover;
      if (takeoverMs === undefined || ms <= takeoverMs) continue;
      const id = seen.flatMap(({ runs }) => runs).find(({ n }) => n === run)?.id ?? '';
      broken.push(
        `run ${run} went on at ${by} only after ${ms} ms`,
        ...this.#disruptions.around(takeover),
        ...(id === '' ? [] : this.#fleet.linesAbout(id.replace('resp_', ''))),
      );
    }
    // A single instance is away as often as it is struck.
    if (pauseMs !== undefined && pause.ms > pauseMs && this.#fleet.names.length > 1) {
      broken.push(
        `a viewer of run ${pause.n} saw nothing for ${Math.round(pause.ms)} ms`,
        ...this.#disruptions.around(pause),
      );
      for (const { instance, at } of this.#world.turns.get(pause.n) ?? [])
        broken.push(`  ${instance} asked for a turn ${pause.until - at} ms before its end`);
    }
    return broken;
  }

  #numbers(seen: readonly ClientSeen[], { ms, load }: { ms: number; load: number }): Record<string, number> {
    const viewed = seen.flatMap((each) => each.runs.flatMap(({ viewed }) => viewed));
    const executions = [...this.#world.executions.values()];
    const of = (kind: ClientKind) => seen.filter((each) => each.kind === kind).length;
    return {
      clients: seen.length,
      'clients that wait for the whole answer': of('blocking'),
      'chat clients': of('chat'),
      'chat clients that leave': of('leaving chat'),
      'clients of the plain model': of('plain'),
      'clients in conversations': of('conversation'),
      'clients on sockets': of('socket') + of('unstored socket'),
      'of them that began anew': seen.filter(({ strays }) => strays).length,
      seconds: round(ms / 1000),
      'load of the machine in its last minute': round(load),
      ...this.#disruptions.counts,
      viewers: viewed.length,
      'connections of viewers': viewed.reduce((sum, viewer) => sum + viewer.connections, 0),
      'requests refused or cut': this.#clients.refused,
      'events seen': seen.reduce((sum, each) => sum + countEvents(each), 0),
      'turns looked at for a second payment': seen.reduce((sum, each) => sum + each.turnedAt.size, 0),
      'tool calls': executions.length,
      'tool calls repeated unfinished': executions.filter((times) => times.length > 1).length,
      'webhooks told': this.#receivers.count,
      cancelled: seen.filter((each) => each.runs.some(({ cancelled }) => cancelled)).length,
      'slowest cancel, ms': round(Math.max(0, ...this.#clients.cancelMs)),
      'conversations that were held': this.#clients.lockedMs.length,
      'longest of them, ms': round(Math.max(0, ...this.#clients.lockedMs)),
      'longest pause of a viewer, ms': round(longestPause(seen).ms),
      'takeovers measured': this.#disruptions.takeovers.length,
      'slowest takeover, ms': round(Math.max(0, ...this.#disruptions.takeovers.map(({ ms }) => ms))),
    };
  }
}

/** Whether `check` says so within this time. */
async function within(ms: number, check: () => Promise<boolean>): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; await delay(1000)) {
    if (await check()) return true;
  }
  return false;
}

/** The longest time that a viewer saw nothing of a run, and when it ended. */
function longestPause(seen: readonly ClientSeen[]): { n: number; ms: number; until: number } {
  let longest = { n: -1, ms: 0, until: 0 };
  for (const { n, viewed } of seen.flatMap(({ runs }) => runs)) {
    for (const { longestPauseMs: ms, pausedUntil: until } of viewed) if (ms > longest.ms) longest = { n, ms, until };
  }
  return longest;
}

function countEvents(seen: ClientSeen): number {
  return seen.runs.reduce((sum, { viewed: [first] }) => {
    return sum + (first?.bytes.toString('latin1').split('\n\n').length ?? 0);
  }, 0);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
