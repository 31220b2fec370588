/** The state of a counter after it was asked. */
export interface Count {
  /** Points used in the window, those just asked for included where they were granted. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** At once where it is counted in this process. */
export type Awaitable<T> = T | Promise<T>;

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

/** A bounded number of places, each held by an id and free again after its time even if nobody frees it. */
export interface Slots {
  /** False where `limit` places are held. */
  take(key: string, id: string, options: { limit: number; ttlMs: number }): Awaitable<boolean>;
  release(key: string, id: string): Awaitable<void>;
  count(key: string): Awaitable<number>;
  /** The ids that hold a place. */
  holders(key: string): Awaitable<string[]>;
}

/** A counter: points in windows of this length. */
export interface CounterWindow {
  name: string;
  windowSeconds: number;
}

/**
 * One of the limits of a key, as a request takes it: a place, or points. Points with `reserved` are what a request will
 * use at most: one that is alone only needs something to be left, parallel ones have to fit together.
 */
export type LimitRequest =
  | { kind: 'place'; name: string; limit: number; ttlMs: number }
  | ({ kind: 'points'; points: number; limit: number; reserved?: { name: string; ttlMs: number } } & CounterWindow);

/** What came of one: the counter's state, where it has one. */
export interface LimitResult {
  granted: boolean;
  count?: Count;
  /** Of a refused reservation: whether others hold some, too. What they leave unused is given back when they end. */
  reservedByOthers?: boolean;
}

/**
 * What is given back of a limit; points may be negative where more were used than taken. Reserved ones are given back
 * together with their place, by `reserved`.
 */
export type LimitRelease =
  | { kind: 'place'; name: string }
  | ({ kind: 'points'; points: number; reserved?: { name: string } } & CounterWindow);

/** Who takes: an API key, and the request of it that holds places. */
export interface LimitHolder {
  key: string;
  id: string;
}

/** Where limits are counted: in this process's memory, or in a store that instances share. */
export interface LimitStore {
  /** One of a name. */
  counter(window: CounterWindow): Counter;
  /** One of a name. */
  slots(options: { name: string }): Slots;
  /**
   * Takes all of it, in this order, or nothing; over Redis in several commands, so that others may see a part of it for a
   * moment. The results up to the first that was refused. @throws GatewayError `store_unavailable`: then what was
   * taken is given back as far as can be known, and by its time.
   */
  take(holder: LimitHolder, requests: readonly LimitRequest[]): Promise<LimitResult[]>;
  /**
   * True once it is given back. False where the store is away: it is repeated when the store is back, and nothing else
   * may be taken by this id.
   */
  giveBack(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean>;
}

/** All that is given back of what was taken. */
export function releasesOf(request: LimitRequest): LimitRelease[] {
  const { kind, name } = request;
  if (kind === 'place') return [{ kind, name }];
  const { windowSeconds, points, reserved } = request;
  return [{ kind, name, windowSeconds, points, ...(reserved && { reserved: { name: reserved.name } }) }];
}
