/** Available at once if it is counted in this process, later if a store counts it. */
export type Awaitable<T> = T | Promise<T>;

/** The state of a counter after an operation. */
export interface Count {
  /** Points used in the window, including the ones just granted. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** Points in a window of time. */
export interface Counter {
  /** Takes `points` if `limit` still has that many left; `force` takes them anyway. A refusal takes nothing. */
  take(
    key: string,
    points: number,
    options: { limit: number; force?: boolean },
  ): Awaitable<Count & { granted: boolean }>;
  /** Returns points to the current window (or takes more, if negative). */
  refund(key: string, points: number): Awaitable<void>;
}

/** How long something stays held if nobody releases it, in milliseconds. */
export interface HoldTime {
  ttlMs: number;
  /** It belongs to a run, so a store on disk keeps it when this process ends. */
  lasting?: boolean | undefined;
}

/** A bounded number of slots. Each is held by an id, and becomes free after its time even if nobody releases it. */
export interface Slots {
  /** False if `limit` slots are held already. */
  take(key: string, id: string, options: { limit: number } & HoldTime): Awaitable<boolean>;
  release(key: string, id: string): Awaitable<void>;
  count(key: string): Awaitable<number>;
  /** The ids that hold a slot. */
  holders(key: string): Awaitable<string[]>;
}

/**
 * Points that are reserved before the actual use is known, and settled afterwards. A reservation counts in addition to
 * what is used and belongs to no window; settled points count in the window current at that time.
 */
export interface LimitBudget {
  /**
   * Reserves `points` under an id, replacing what that id reserved before. More than is left is granted only if nobody
   * else has a reservation and at least something is left.
   */
  reserve(key: string, id: string, options: { points: number; limit: number } & HoldTime): Awaitable<ReservationResult>;
  /** Notes what the id has used so far, which is then always counted. Extends the reservation to `ttlMs` from now. */
  note(key: string, id: string, options: { spent: number; ttlMs: number }): Awaitable<void>;
  /** Counts `spent`, or what was last noted, and ends the reservation, if there is one. `points`: as reserved. */
  settle(key: string, id: string, options: { points: number; spent?: number | undefined }): Awaitable<void>;
  /** What is used and reserved together. */
  used(key: string): Awaitable<Count>;
  /** The ids that have a reservation. */
  holders(key: string): Awaitable<string[]>;
}

/** `others`: whether other ids have reservations, of which they may leave some unused. */
export type ReservationResult = Count & { granted: boolean; others: boolean };

/** A counter: points in windows of this length. */
export interface CounterWindow {
  name: string;
  windowSeconds: number;
}

/** Whose limit it is, if not that of the holder's key: a team's. */
interface LimitOwner {
  owner?: string | undefined;
}

/** What a request takes of one limit: a slot, points, or the most it may use of a budget. */
export type LimitRequest = LimitOwner &
  (
    | { kind: 'place'; name: string; limit: number; ttlMs: number }
    | ({ kind: 'points'; points: number; limit: number } & CounterWindow)
    | ({ kind: 'budget'; points: number; limit: number; ttlMs: number } & CounterWindow)
  );

/** The outcome for one limit; with the state of its counter, if it has one. */
export interface LimitResult {
  granted: boolean;
  count?: Count;
  /** For a refused reservation: whether others have reservations, which return what they leave unused when they end. */
  reservedByOthers?: boolean;
}

/** What is released of a limit, or settled of a budget (see `LimitBudget.settle`). */
export type LimitRelease = LimitOwner &
  (
    | { kind: 'place'; name: string }
    | ({ kind: 'points'; points: number } & CounterWindow)
    | ({ kind: 'budget'; points: number; spent?: number | undefined } & CounterWindow)
  );

/** What a holder has used so far; see `LimitBudget.note`. */
export type LimitNote = { holder: LimitHolder; spent: number; ttlMs: number } & CounterWindow;

/** Who takes: an API key, and the id of its request. */
export interface LimitHolder {
  key: string;
  id: string;
  /** See `HoldTime`. */
  lasting?: boolean | undefined;
}

/** Counts limits, in the memory of this process or in a store that instances share. */
export interface LimitStore {
  counter(window: CounterWindow): Counter;
  slots(options: { name: string }): Slots;
  /** One budget per name. */
  budget(window: CounterWindow): LimitBudget;
  /**
   * Takes all requests in order, or none; over Redis this is several commands, so others may briefly see a part of it.
   * Returns the results up to the first refusal.
   * @throws GatewayError `store_unavailable`. What was taken is released if that is known, otherwise it expires.
   */
  take(holder: LimitHolder, requests: readonly LimitRequest[]): Promise<LimitResult[]>;
  /**
   * True once everything is released. False if the store is unavailable: the release is repeated when the store is
   * back, and this id must not take anything else.
   */
  release(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean>;
  /** Notes what holders have used so far. While the store is unavailable the note is lost; the next one replaces it. */
  note(notes: readonly LimitNote[]): Promise<void>;
}

/** The release of a request that used nothing. */
export function releaseOf(request: LimitRequest): LimitRelease {
  const { owner } = request;
  if (request.kind === 'place') return { kind: 'place', name: request.name, owner };
  const { kind, name, windowSeconds, points } = request;
  const release = { name, windowSeconds, points, owner };
  return kind === 'points' ? { kind, ...release } : { kind, ...release, spent: 0 };
}
