import type { RunId } from '../base/ids.ts';

/**
 * The run store: records, event logs, transcripts and claims. One contract, several backends, one contract suite
 * (`test/contract/run-store.ts`). To the store a frame is only bytes; it does not know what an event means.
 *
 * Every method may throw `GatewayError('store_unavailable')` with a time to retry after, and none takes longer than the
 * backend's command limit.
 *
 * Leases, submission keys and expiry follow the store's own clock, so instances whose clocks differ agree on them.
 */

/** The interface that submitted a run; each lists only its own runs. `unstored`: a response with `store: false`. */
export const RUN_APIS = ['responses', 'async', 'chat_completions', 'unstored'] as const;
export type RunApi = (typeof RUN_APIS)[number];

/** `proxy`: one call whose answer is proxied; `research`: everything that a loop drives. */
export const RUN_KINDS = ['research', 'proxy'] as const;

/** A run is `queued` until its first claim. `completed`, `failed` and `cancelled` are terminal. */
export const RUN_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
export type TerminalStatus = Exclude<RunStatus, 'queued' | 'in_progress'>;
/** What lists tell apart: a `completed` run is `incomplete` if its `listed` says so. */
export type ListedStatus = RunStatus | 'incomplete';

/** The record of a run. Times are Unix milliseconds. */
export interface RunRecord {
  id: RunId;
  user: string;
  /** Id of the API key, never its secret. */
  keyId: string;
  api: RunApi;
  model: string;
  kind: (typeof RUN_KINDS)[number];
  status: RunStatus;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** When the record, its log and its transcript are removed. */
  expiresAt: number;
  /** A cancel was accepted, so the run can only end as cancelled. */
  cancelRequested: boolean;
  /** Sequence number of the last event in the log. */
  last: number;
  /** The request as JSON text, in the shape of `runs/`; credentials in it are encrypted. */
  request: string;
  /** Free-form metadata as JSON text. */
  metadata: string;
  /**
   * What list entries show in addition, as JSON text in the shape of `runs/`; `{}` in records of earlier versions. To the
   * store only its `status` means something; see `ListedStatus`.
   */
  listed: string;
}

/** What a list entry needs: a record without its request. */
export type RunSummary = Omit<RunRecord, 'request'>;

/** A run to create. The first frames are stored with it in one step (docs/api.md, "Events": created, in_progress). */
export interface NewRun extends Omit<RunRecord, 'status' | 'startedAt' | 'endedAt' | 'cancelRequested' | 'last'> {
  /** Frames numbered 1 to `frameCount`, joined. */
  frames: Uint8Array;
  frameCount: number;
  /** Keys that identify a repeat of this submission. Stored with the run in one step. */
  keys?: readonly SubmissionKey[];
  /** Claims the run in the same step: it is never queued, and starts as `in_progress`. */
  claim?: { leaseMs: number };
}

/** The record of a run that was just stored. */
export function recordOf({ frames: _, frameCount, keys: __, claim, ...run }: NewRun): RunRecord {
  const state = claim
    ? ({ status: 'in_progress', startedAt: run.createdAt } as const)
    : ({ status: 'queued', startedAt: null } as const);
  return { ...run, ...state, endedAt: null, cancelRequested: false, last: frameCount };
}

/**
 * The outcome of `create`. `created`: the run is queued. `token`: the run was created as claimed. `exists`: there
 * already is a run of this id. `taken`: an earlier submission holds one of the keys, perhaps one whose run is still
 * being written. `exists` and `taken` change nothing.
 */
export type CreateResult = 'created' | { token: FencingToken } | 'exists' | { taken: KeyHolder };

/**
 * Identifies a repeated submission (docs/api.md, "In general"), as durably as its run, by the clock of the store.
 * - `idempotency`: holds for `ttlMs` after the creation, and keeps standing for its run even if that is deleted.
 * - `retry`: holds while the run is open and for `ttlMs` after its end; removed with the run.
 */
export interface SubmissionKey {
  kind: 'idempotency' | 'retry';
  /** Identifies the submission among those of all users; letters and digits. */
  hash: string;
  /** Fingerprint of the request, for the caller to compare. */
  fingerprint: string;
  /** Milliseconds. */
  ttlMs: number;
  /** `retry` only: the name under which a version 1 instance that shares the store caches the run of this key. */
  nameInVersion1?: string;
}

/** The part of a key that a lookup needs. */
export type SubmissionKeyName = Pick<SubmissionKey, 'kind' | 'hash' | 'nameInVersion1'>;

/** The earlier submission that holds a key. */
export interface KeyHolder {
  kind: SubmissionKey['kind'];
  fingerprint: string;
  runId: RunId;
  /** Undefined if the run was deleted. */
  run: RunRecord | undefined;
}

/**
 * Consecutive frames `first` to `last`, joined. Each frame ends with a blank line and contains no other. `end`: the
 * last frame is the terminal one.
 */
export interface LogBatch {
  first: number;
  last: number;
  frames: Uint8Array;
  end: boolean;
}

/** Proves a claim. Tokens are compared for equality; no two owners ever get the same one, even across a failover. */
export type FencingToken = string;

/** A run claimed for execution. */
export interface Claim {
  run: RunRecord;
  token: FencingToken;
  /** How often the run was claimed since its last finished step, including now. Released claims are not counted. */
  attempts: number;
  /** The submission keys of the run, in stores that can lose runs; see `RunStore.restore`. */
  keys?: readonly SubmissionKey[];
}

/** A run that the store has lost while its owner still executes it, as it was when the owner claimed it. */
export interface LostRun extends NewRun {
  token: FencingToken;
  leaseMs: number;
  startedAt: number | null;
  cancelRequested: boolean;
  transcript: readonly string[];
}

export interface AppendBatch {
  token: FencingToken;
  /** Sequence number of the first frame. */
  first: number;
  /** Number of frames; may be 0 where only transcript entries are written. */
  count: number;
  frames: Uint8Array;
  /** Transcript entries (JSON texts) written in the same atomic step. */
  transcript?: readonly string[];
  /** These entries finish a step, so the attempts of the run are counted from zero again. */
  progress?: boolean;
  /**
   * How many entries the transcript holds before these. In a batch without frames, only this number lets the store
   * recognise a retry after an unknown outcome; without it the entries would be stored twice.
   */
  entriesBefore?: number;
  /** Ends the run. It is removed `retainMs` milliseconds later by the store's clock. */
  end?: {
    status: TerminalStatus;
    at: number;
    retainMs: number;
    /** The new `RunRecord.listed`; unchanged if absent. */
    listed?: string;
  };
}

/**
 * The outcome of an append. Only `ok` has written anything.
 * - `ok`: written. `cancel`: a cancel was accepted.
 * - `duplicate`: the log already has the whole batch (the same owner retries after an unknown outcome).
 * - `gap`: `first` is not `last + 1`; send again from `last + 1`.
 * - `fenced`: the token is not that of the current claim.
 * - `cancelled`: a cancel was accepted, and the batch would end the run in another way.
 * - `closed`: the run has ended. `missing`: there is no such run.
 */
export type AppendResult =
  | { result: 'ok' | 'duplicate'; last: number; cancel: boolean }
  | { result: 'gap' | 'cancelled'; last: number }
  | { result: 'fenced' | 'closed' | 'missing' };

/** The outcome of a cancel request. A repeated cancel is `accepted` too. */
export type CancelResult = { result: 'accepted' } | { result: 'ended'; status: TerminalStatus } | { result: 'missing' };

/** A run's place in a list, even if the run is gone. The caller rejects unknown ids and those of other users. */
export type RunCursor = Pick<RunRecord, 'id' | 'createdAt'>;

export interface ListQuery {
  user: string;
  api: RunApi;
  /** 1 to 1 000. */
  limit: number;
  /** Order of creation; `desc` (newest first) if absent. */
  order?: 'asc' | 'desc' | undefined;
  /** Only runs that follow this one in the list. */
  after?: RunCursor | undefined;
  /** Only runs that precede this one in the list: the nearest ones, still in list order. */
  before?: RunCursor | undefined;
  status?: readonly ListedStatus[] | undefined;
  model?: string | undefined;
}

/** Receives the live batches of a run's log. */
export interface LogHandlers {
  onBatch(batch: LogBatch): void;
  /** Batches may have been missed; the subscriber has to read them. */
  onGap(): void;
}

/** A change that executors react to. */
export type RunChange = { type: 'cancel' | 'claimable'; id: RunId };

export interface RunStore {
  /** Creates a run as `queued` or, with `claim`, as `in_progress`. */
  create(run: NewRun): Promise<CreateResult>;
  /** Finds the earlier submission that holds one of the keys. Submissions that were never stored do not count. */
  findKey(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined>;
  get(id: RunId): Promise<RunRecord | undefined>;
  /**
   * Lists a user's runs of one interface in order of creation (ties in a stable order). `hasMore`: further runs follow
   * the page or, with `before`, precede it. Filters read an index, so the cost of a page does not depend on how many
   * runs fail to match.
   */
  list(query: ListQuery): Promise<{ runs: RunSummary[]; hasMore: boolean }>;
  /** Counts runs that have not ended, by status; for limits, readiness and metrics. May lag by a second. */
  countOpen(): Promise<{ queued: number; inProgress: number }>;
  countQueued(keyId: string): Promise<number>;

  /**
   * Claims a run whose lease has expired, or else the next queued one: API keys take turns, and within a key the oldest
   * run comes first. `queued`: only queued runs. Undefined if there is none. The first claim sets `startedAt`, unless a
   * cancel was accepted before.
   */
  claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined>;
  /**
   * Claims this run: with `force` even from another owner, who is fenced out, otherwise only if nobody holds it.
   * Undefined if the run has ended, is missing, or is held and `force` is false.
   */
  claim(id: RunId, options: { leaseMs: number; force: boolean }): Promise<Claim | undefined>;
  /**
   * Ids of at most `limit` open runs that nobody seems to hold: abandoned ones, then queued ones, the oldest of each
   * key first. A dispatcher uses it to make sure that each has a job; `claim` decides. `abandoned`: leaves out queued
   * runs.
   */
  findClaimable(options: { limit: number; abandoned?: boolean }): Promise<RunId[]>;
  /** Extends a claim. `fenced`: the claim was lost. `cancel`: a cancel was accepted. */
  renew(
    id: RunId,
    options: { token: FencingToken; leaseMs: number },
  ): Promise<{ result: 'ok'; cancel: boolean } | { result: 'fenced' }>;
  /**
   * Creates a run again that a failover has lost, still held by the token of its owner. `exists`: the run is still
   * there, or it was deleted. Only in stores whose servers can fail over.
   */
  restore?(run: LostRun): Promise<'restored' | 'exists'>;
  /**
   * Releases a claim: the run can be claimed at once, and the attempt is not counted. If another owner has taken the
   * run meanwhile, only the count changes: an owner that is alive to release its claim has not crashed.
   */
  release(id: RunId, options: { token: FencingToken }): Promise<void>;

  /** Appends atomically: every check precedes the first write. */
  append(id: RunId, batch: AppendBatch): Promise<AppendResult>;
  /**
   * Reads the batches that hold events after `after`, in order; frames up to `after` are cut off. About `maxBytes` at
   * most, but at least one batch if there is one.
   * @throws GatewayError `internal_error` if the stored batches are not contiguous.
   */
  read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]>;
  /** Reads the last batch of a log, which holds the terminal frame if the run has ended. */
  readLast(id: RunId): Promise<LogBatch | undefined>;
  /** Reads all transcript entries in the order in which they were written. */
  readTranscript(id: RunId): Promise<string[]>;
  /**
   * Passes batches to the handlers as they are appended, in order, possibly with gaps. Once the promise has resolved,
   * no later batch is missed without a call of `onGap`.
   */
  subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable>;

  /** Records a cancel. From then on the run can only end as cancelled, even after a crash. */
  requestCancel(id: RunId): Promise<CancelResult>;
  /** Calls `listener` when any instance requests a cancel or a run becomes claimable. Lossy: poll as well. */
  onChange(listener: (change: RunChange) => void): Disposable;

  /** Removes a run with its log and transcript. False if there is none. */
  delete(id: RunId): Promise<boolean>;
  /**
   * Removes at most `limit` ended runs whose `expiresAt` has passed. Returns how many were due, even if another
   * instance removed some of them first; only a number below `limit` means that none are left.
   */
  removeExpired(options: { limit: number }): Promise<number>;

  /**
   * Compresses the logs of at most `limit` runs that ended at least `endedForMs` milliseconds ago, oldest first.
   * Returns how many were due, as `removeExpired` does. Reads return the same bytes before and after.
   */
  compressEnded(options: { endedForMs: number; limit: number }): Promise<number>;

  /** Whether the store can be written to, and why not. Answers within a second. */
  check(): Promise<{ ok: true } | { ok: false; reason: string }>;
  close(): Promise<void>;
}
