import type { RunId } from '../base/ids.ts';

/**
 * The run store: records, event logs, transcripts and claims. One contract, several backends, one contract suite
 * (`test/contract/run-store.ts`). It knows nothing of what an event means; frames are bytes to it.
 *
 * Every method may throw `GatewayError('store_unavailable')` with a time to retry after; none hangs longer than the
 * backend's command limit.
 *
 * Leases, keys and expiry go by the store's own clock: instances whose clocks differ take nothing from each other.
 */

/** The interface through which a run was submitted. Lists show only their own. `unstored`: a response with `store: false`. */
export const RUN_APIS = ['responses', 'async', 'chat_completions', 'unstored'] as const;
export type RunApi = (typeof RUN_APIS)[number];

/** `proxy`: one call, whose answer is passed on; `research`: everything that a loop drives. */
export const RUN_KINDS = ['research', 'proxy'] as const;

/** The three last are terminal, `queued` is until first claimed. */
export const RUN_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
export type TerminalStatus = Exclude<RunStatus, 'queued' | 'in_progress'>;

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
  /** A cancel was accepted: the run can only end as cancelled. */
  cancelRequested: boolean;
  /** Sequence number of the last event in the log. */
  last: number;
  /** The request as JSON text, in the shape of `runs/`; credentials in it are encrypted. */
  request: string;
  /** Free-form metadata as JSON text. */
  metadata: string;
  /** What lists say of it beside the record, as JSON text, in the shape of `runs/`; `{}` where an earlier version wrote none. */
  listed: string;
}

/** What a list entry needs: a record without its request. */
export type RunSummary = Omit<RunRecord, 'request'>;

/** A run to create. The first frames are stored with it in one step (docs/api.md, "Events": created, in_progress). */
export interface NewRun extends Omit<RunRecord, 'status' | 'startedAt' | 'endedAt' | 'cancelRequested' | 'last'> {
  /** Frames numbered 1 to `frameCount`, joined. */
  frames: Uint8Array;
  frameCount: number;
  /** What a repeat of the submission is recognised by. Stored with the run in one step. */
  keys?: readonly SubmissionKey[];
  /** Claims it in the same step: it is in progress from its creation on, and was never queued. */
  claim?: { leaseMs: number };
}

/**
 * What became of a creation: `created`, or the token of the claim that it was created with. `exists`: a run of this id is
 * there already; `taken`: an earlier submission holds one of the keys, possibly one that is being stored at this moment.
 * Nothing was changed then.
 */
export type CreateResult = 'created' | { token: FencingToken } | 'exists' | { taken: KeyHolder };

/**
 * What a repeated submission is recognised by (docs/api.md, "In general"): as durable as its run, by the store's clock.
 * - `idempotency`: holds for `ttlMs` after the creation, and then stands for this run even where it was deleted.
 * - `retry`: holds while the run is open and `ttlMs` after its end; gone with the run.
 */
export interface SubmissionKey {
  kind: 'idempotency' | 'retry';
  /** Names the submission among those of all users; letters and digits. */
  hash: string;
  /** Of what was submitted, for the caller to compare. */
  fingerprint: string;
  /** Milliseconds. */
  ttlMs: number;
  /** Of a `retry`: where an instance of version 1 that shares the store keeps the run of it. */
  nameInVersion1?: string;
}

/** What a submission is looked for by. */
export type SubmissionKeyName = Pick<SubmissionKey, 'kind' | 'hash' | 'nameInVersion1'>;

/** The earlier submission of a key. */
export interface KeyHolder {
  kind: SubmissionKey['kind'];
  fingerprint: string;
  runId: RunId;
  /** Undefined where the run was deleted. */
  run: RunRecord | undefined;
}

/**
 * Consecutive frames as they were appended, joined: `first` to `last`, each ending with a blank line and holding no
 * other blank line. `end`: the terminal frame is the last of them.
 */
export interface LogBatch {
  first: number;
  last: number;
  frames: Uint8Array;
  end: boolean;
}

/** Proof of a claim. Compared for equality: two owners never look alike, even after a failover. */
export type FencingToken = string;

/** A run claimed for execution. */
export interface Claim {
  run: RunRecord;
  token: FencingToken;
  /** How often the run was claimed since its last finished step, this time included. One that was given back does not count. */
  attempts: number;
  /** What repeats of the submission are recognised by, where the store can lose a run; see `RunStore.restore`. */
  keys?: readonly SubmissionKey[];
}

/** A run that its owner still drives although the store has lost it, as it began. */
export interface LostRun extends NewRun {
  token: FencingToken;
  leaseMs: number;
  startedAt: number | null;
  cancelRequested: boolean;
}

/** One batch to append. */
export interface Append {
  token: FencingToken;
  /** Sequence number of the first frame. */
  first: number;
  /** Number of frames; may be 0 where only transcript entries are written. */
  count: number;
  frames: Uint8Array;
  /** Transcript entries (JSON texts) written in the same atomic step. */
  transcript?: readonly string[];
  /** The entries finish a step: from here on the run's attempts are counted anew. */
  progress?: boolean;
  /**
   * How many entries were stored before these. Where there are no frames, this alone tells a repeat after an unknown
   * outcome from a new step; without it the entries would be stored twice.
   */
  entriesBefore?: number;
  /** Ends the run, which is removed `retainMs` milliseconds later by the store's clock. */
  end?: {
    status: TerminalStatus;
    at: number;
    retainMs: number;
    /** What `RunRecord.listed` is from now on; absent: what it was. */
    listed?: string;
  };
}

/**
 * What became of an append. Only `ok` wrote anything.
 * - `ok`: written. `cancel`: a cancel was accepted.
 * - `duplicate`: the whole batch is in the log already (a retry by the same owner after an unknown outcome).
 * - `gap`: `first` is not last + 1; send again from `last + 1`.
 * - `fenced`: the token is not the current claim's.
 * - `cancelled`: the batch ends the run other than as cancelled, but a cancel was accepted.
 * - `closed`: the run has ended. `missing`: there is no such run.
 */
export type AppendResult =
  | { result: 'ok' | 'duplicate'; last: number; cancel: boolean }
  | { result: 'gap' | 'cancelled'; last: number }
  | { result: 'fenced' | 'closed' | 'missing' };

/** What became of a cancel request. `accepted` also where one was accepted before. */
export type CancelResult = { result: 'accepted' } | { result: 'ended'; status: TerminalStatus } | { result: 'missing' };

export interface ListQuery {
  user: string;
  api: RunApi;
  /** 1 to 1 000. */
  limit: number;
  /** By creation; `desc` (newest first) where absent. */
  order?: 'asc' | 'desc' | undefined;
  /** Only runs behind this one in the order of the list. Unknown or foreign ids are checked by the caller. */
  after?: RunId | undefined;
  /** Only runs ahead of this one: those nearest to it, still in the order of the list. */
  before?: RunId | undefined;
  status?: readonly RunStatus[] | undefined;
  model?: string | undefined;
}

/** What a subscriber to a run's log gets. */
export interface LogHandlers {
  onBatch(batch: LogBatch): void;
  /** Batches may have been missed: they have to be read. */
  onGap(): void;
}

/** A change that concerns executors. */
export type RunChange = { type: 'cancel' | 'claimable'; id: RunId };

export interface RunStore {
  /** Creates a run in state `queued`, or in progress as its first claim. */
  create(run: NewRun): Promise<CreateResult>;
  /** The earlier submission that holds one of the keys, where there is one that was stored. */
  findKey(keys: readonly SubmissionKeyName[]): Promise<KeyHolder | undefined>;
  get(id: RunId): Promise<RunRecord | undefined>;
  /**
   * A user's runs of one interface in the order of their creation (ties in a stable order). `hasMore`: there are further
   * ones behind the page, or ahead of it where `before` was asked for. Filters read an index: a page costs the same
   * however many runs do not match.
   */
  list(query: ListQuery): Promise<{ runs: RunSummary[]; hasMore: boolean }>;
  /** Runs that have not ended, by status; for limits, readiness and metrics. May lag by a second. */
  countOpen(): Promise<{ queued: number; inProgress: number }>;
  /** Queued runs of an API key. */
  countQueued(keyId: string): Promise<number>;

  /**
   * Claims a run whose claim has run out, or the next queued one: API keys take turns, and the runs of one key come in
   * the order of their creation. `queued`: only the latter. Undefined if there is none. Sets `startedAt` the first
   * time, unless a cancel was accepted before.
   */
  claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined>;
  /**
   * Claims this run whoever holds it (`force`), or only where it is free. The former owner is fenced out. Undefined
   * where it has ended, is missing, or is held and `force` is false.
   */
  claim(id: RunId, options: { leaseMs: number; force: boolean }): Promise<Claim | undefined>;
  /**
   * Ids of runs that are open and held by nobody that the store knows of: abandoned ones, then queued ones, those of a
   * key oldest first, at most `limit`. For a dispatcher that makes sure that each has a job; `claim` decides.
   * `abandoned`: no queued ones.
   */
  claimable(options: { limit: number; abandoned?: boolean }): Promise<RunId[]>;
  /** Extends a claim. `fenced`: it was lost. `cancel`: a cancel was accepted. */
  renew(
    id: RunId,
    options: { token: FencingToken; leaseMs: number },
  ): Promise<{ result: 'ok'; cancel: boolean } | { result: 'fenced' }>;
  /**
   * Creates a run again that a failover took away, held by its owner's token as before. `exists`: it is there, or it was
   * deleted. Only in stores whose servers can fail over.
   */
  restore?(run: LostRun): Promise<'restored' | 'exists'>;
  /**
   * Gives a claim back: the run can be claimed at once and the attempt is not counted. Of a claim that another owner has
   * taken meanwhile only the count goes: whoever lives to give it back has not crashed.
   */
  release(id: RunId, options: { token: FencingToken }): Promise<void>;

  /** Appends atomically: all checks come before all writes. */
  append(id: RunId, batch: Append): Promise<AppendResult>;
  /**
   * Batches in order that hold events after `after`, from the one that holds `after + 1`; its frames up to `after` are
   * cut off. About `maxBytes` at most, at least one batch where there is one.
   * @throws GatewayError `internal_error` where the stored batches are not contiguous.
   */
  read(id: RunId, options: { after: number; maxBytes: number }): Promise<LogBatch[]>;
  /** The last batch of a log: it holds the terminal frame of an ended run. */
  readLast(id: RunId): Promise<LogBatch | undefined>;
  /** All transcript entries in the order in which they were written. */
  readTranscript(id: RunId): Promise<string[]>;
  /**
   * Calls the handlers with batches as they are appended from now on, in order, possibly with gaps. The promise
   * resolves once nothing that is appended later can be missed without `onGap` being called.
   */
  subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable>;

  /** Records a cancel. From then on the run can only end as cancelled, also after a crash. */
  requestCancel(id: RunId): Promise<CancelResult>;
  /** Calls `listener` when a cancel is requested or a run becomes free to claim anywhere. Lossy: poll as well. */
  onChange(listener: (change: RunChange) => void): Disposable;

  /** Removes a run with its log and transcript. False if there was none. */
  delete(id: RunId): Promise<boolean>;
  /**
   * Removes ended runs whose `expiresAt` has passed, at most `limit`. The number that were due: others may have been
   * quicker, so only fewer than `limit` says that there are no more.
   */
  removeExpired(options: { limit: number }): Promise<number>;

  /**
   * Compresses logs of runs that ended `endedForMs` milliseconds ago or earlier, oldest first, at most `limit`; the
   * number that were due, as above. Reads give the same bytes before and after.
   */
  compressEnded(options: { endedForMs: number; limit: number }): Promise<number>;

  /** Whether the store can be written to; the reason if not. Answers within a second. */
  check(): Promise<{ ok: true } | { ok: false; reason: string }>;
  close(): Promise<void>;
}
