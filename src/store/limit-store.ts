/** What is counted in this process is there at once, anything else later. */
export type Awaitable<T> = T | Promise<T>;

/** The state of a counter after it was asked. */
export interface Count {
  /** Points used in the window, those just asked for included where they were granted. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** Points in a window of time. */
export interface Counter {
  /** Takes `points` where that many are left of `limit`; `force` takes them anyway. Nothing is taken where refused. */
  take(
    key: string,
    points: number,
    options: { limit: number; force?: boolean },
  ): Awaitable<Count & { granted: boolean }>;
  /** Gives back points (or takes more, where negative) in the window that is running. */
  giveBack(key: string, points: number): Awaitable<void>;
}

/** How long something is held where nobody gives it back, in milliseconds. */
export interface HoldTime {
  ttlMs: number;
  /** It belongs to a run: over a store on disk it outlives this process. */
  lasting?: boolean | undefined;
}

/** A bounded number of places, each held by an id and free again after its time even if nobody frees it. */
export interface Slots {
  /** False where `limit` places are held. */
  take(key: string, id: string, options: { limit: number } & HoldTime): Awaitable<boolean>;
  release(key: string, id: string): Awaitable<void>;
  count(key: string): Awaitable<number>;
  /** The ids that hold a place. */
  holders(key: string): Awaitable<string[]>;
}

/**
 * Points that are reserved before it is known how many are used, and settled then. What is reserved counts beside what
 * is used, and never belongs to a window: what is settled counts in the window that runs then.
 */
export interface LimitBudget {
  /**
   * Holds `points` under an id; more than is left only where nobody else holds any and something is left. An id that
   * holds some already holds these instead.
   */
  reserve(key: string, id: string, options: { points: number; limit: number } & HoldTime): Awaitable<Reserved>;
  /** What the id has used so far: that much is counted, whatever becomes of it. It is held for `ttlMs` from now. */
  note(key: string, id: string, options: { spent: number; ttlMs: number }): Awaitable<void>;
  /**
   * Counts `spent`, where absent what was noted, and holds nothing any more. Does nothing for an id that holds nothing.
   * `points`: as they were reserved.
   */
  settle(key: string, id: string, options: { points: number; spent?: number | undefined }): Awaitable<void>;
  /** What is used and reserved. */
  used(key: string): Awaitable<Count>;
}

/** `others`: whether other ids hold points, of which they may leave some unused. */
export type Reserved = Count & { granted: boolean; others: boolean };

/** A counter: points in windows of this length. */
export interface CounterWindow {
  name: string;
  windowSeconds: number;
}

/** Whose limit it is, where not the key's of its holder: that of a team. */
interface Owned {
  owner?: string | undefined;
}

/** One of the limits of a key, as a request takes it: a place, points, or what it will use at most of a budget. */
export type LimitRequest = Owned &
  (
    | { kind: 'place'; name: string; limit: number; ttlMs: number }
    | ({ kind: 'points'; points: number; limit: number } & CounterWindow)
    | ({ kind: 'budget'; points: number; limit: number; ttlMs: number } & CounterWindow)
  );

/** What came of one: the counter's state, where it has one. */
export interface LimitResult {
  granted: boolean;
  count?: Count;
  /** Of a refused reservation: whether others hold some, too. What they leave unused is given back when they end. */
  reservedByOthers?: boolean;
}

/** What is given back of a limit, or settled of a budget (see `LimitBudget.settle`). */
export type LimitRelease = Owned &
  (
    | { kind: 'place'; name: string }
    | ({ kind: 'points'; points: number } & CounterWindow)
    | ({ kind: 'budget'; points: number; spent?: number | undefined } & CounterWindow)
  );

/** What a holder has used so far; see `LimitBudget.note`. */
export type LimitNote = { holder: LimitHolder; spent: number; ttlMs: number } & CounterWindow;

/** Who takes: an API key, and the request of it that holds places. */
export interface LimitHolder {
  key: string;
  id: string;
  /** See `HoldTime`. */
  lasting?: boolean | undefined;
}

/** Where limits are counted: in this process's memory, or in a store that instances share. */
export interface LimitStore {
  counter(window: CounterWindow): Counter;
  slots(options: { name: string }): Slots;
  /** One of a name. */
  budget(window: CounterWindow): LimitBudget;
  /**
   * Takes all of it, in this order, or nothing; over Redis in several commands, so that others may see a part of it for a
   * moment. The results up to the first that was refused. @throws GatewayError `store_unavailable`: then what was
   * taken is given back where that is known, else when its time is over.
   */
  take(holder: LimitHolder, requests: readonly LimitRequest[]): Promise<LimitResult[]>;
  /**
   * True once it is given back. False where the store is away: it is repeated when the store is back, and nothing else
   * may be taken by this id.
   */
  giveBack(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean>;
  /** Notes what holders have used so far. A store that is away gets it with the next note. */
  note(notes: readonly LimitNote[]): Promise<void>;
}

/** All that is given back of what was taken: nothing of it was used. */
export function releaseOf(request: LimitRequest): LimitRelease {
  const { owner } = request;
  if (request.kind === 'place') return { kind: 'place', name: request.name, owner };
  const { kind, name, windowSeconds, points } = request;
  const release = { name, windowSeconds, points, owner };
  return kind === 'points' ? { kind, ...release } : { kind, ...release, spent: 0 };
}
