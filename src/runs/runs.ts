import type { RunId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { TraceContext } from '../base/trace-context.ts';
import type { ResearchModelConfig } from '../config/schema.ts';
import type { PlainRequest } from '../plain/request.ts';
import type { TurnPrompt } from '../protocol/operating/turn-prompt.ts';
import type { RequestedWebhook } from '../protocol/requests/requested-webhook.ts';
import type { ThreadSettings } from '../protocol/requests/thread-settings.ts';
import type { ResponseObject } from '../protocol/response.ts';
import type { TaskStatus } from '../protocol/tasks.ts';
import type { ContinuedResearch, FollowUp, FunctionOutputs, ResearchRequest } from '../research/run/request.ts';
import type { LogBatch, RunApi, RunRecord, RunStatus, RunSummary, SubmissionKey } from '../store/run-store.ts';
import type { TurnMessage } from '../upstream/turn.ts';
import type { UsageTotals } from '../upstream/usage-totals.ts';
import type { RunTimeline } from './projections/timeline.ts';
import type { FollowLogOptions } from './reading/follow.ts';

/** Who makes a request: the user that owns runs, and the key used. */
export interface Caller {
  user: string;
  keyId: string;
  /** Runs with `store: false` that this caller may read even after their end. */
  reads?: ReadonlySet<RunId>;
}

/** One non-streamed chat completion of a proxy model, run in the background (docs/api.md, "Async"). */
export interface ProxyRequest {
  kind: 'proxy';
  /** The body as the client sent it; it is forwarded byte for byte. */
  body: string;
}

/** A provider's answer to a proxy request. */
export interface ProxyAnswer {
  body: string;
  used: UsageTotals;
}

export type RunRequest = ResearchRequest | PlainRequest | ProxyRequest;

/** A conversation as it was read for a request that joins it. */
export interface JoinedConversation {
  /** Without prefix. */
  id: string;
  /** The version of its items; see `ConversationRecord`. */
  version: number;
}

/** A validated request to run something. */
export interface Submission {
  caller: Caller;
  api: RunApi;
  /** The configured model's name. */
  model: string;
  request: RunRequest;
  /** Input items as the client sent them, for `input_items`. */
  input: JsonObject[];
  background: boolean;
  metadata: JsonObject;
  previousResponseId: string | null;
  /** Fields of the response that repeat the request as sent, where the gateway acts on something else. */
  shown?: Partial<ResponseObject>;
  /** False: the model is not called; the input is only stored for the response that follows. */
  generate?: false | undefined;
  /** How long it is retained after its end, in milliseconds; the configured time if absent. */
  keepMs?: number | undefined;
  /** The conversation that it joins. */
  conversation?: JoinedConversation | undefined;
  /** Who is notified when it ends. Only for background work. */
  webhook?: RequestedWebhook | undefined;
  /** The client's trace, passed to the providers. */
  trace?: TraceContext | undefined;
  /** The tag that its usage is counted under. */
  tag?: string | undefined;
  /** How a repeat of it is recognised (docs/api.md, "In general"). */
  repeat?: RepeatKey;
  /**
   * Reserves limits for a run before anything of it is stored, unless the submission is known to be a repeat. Replays
   * count against no limit, so the caller must undo this if the result turns out to be one. `waits`: the run does not
   * begin at once. If it rejects, the submission is refused with that error.
   */
  admit?: (id: RunId, options: { waits: boolean }) => Promise<RunReservation>;
}

/** Recognises a repeated submission. */
export interface RepeatKey extends SubmissionKey {
  /** Whether this may be a repeat; if not, it is a new run even if the same body was submitted before. */
  sentBefore: boolean;
}

/** The run that a submission became; `replayed`: an earlier one. */
export interface SubmissionResult {
  /** A new run is as it was submitted, whatever has become of it since. */
  run: RunRecord;
  replayed: boolean;
  /** The first events of a new run. */
  beginning?: LogBatch;
}

/**
 * What a run has reserved of its key's limits until it ends. It is stored with the run, so that whoever ends the run can
 * release it: the instance that admitted it may be gone.
 */
export interface RunReservation extends LimitReservation {
  /** What it has reserved of the limits of its key's team, which is the team at admission. */
  team?: LimitReservation & { id: string };
}

export interface LimitReservation {
  /** Whether it takes one of the places of `concurrent_runs`. */
  place?: boolean;
  /** Tokens reserved of `tokens_per_day`. */
  tokens?: number;
  /** Millionths reserved of `cost_per_day`. */
  cost?: number;
  /** Tokens reserved of `tokens_per_minute`. */
  minuteTokens?: number;
  /** Millionths reserved of `cost_per_month`. */
  monthCost?: number;
}

/** A run, with what it has reserved of its key's limits. */
export interface AdmittedRun {
  id: RunId;
  keyId: string;
  held: RunReservation;
}

/** A run that has ended, with its usage. */
export interface EndedRun extends AdmittedRun {
  used: UsageTotals;
}

export interface RunListQuery {
  limit: number;
  /** By creation; `desc` if absent. */
  order?: 'asc' | 'desc';
  /** Public id of the entry after which the page begins. */
  after?: string;
  /** Public id of the entry before which the page ends. */
  before?: string;
  status?: Exclude<RunStatus, 'queued'> | TaskStatus;
  model?: string;
}

/** A turn whose prompt is requested. */
export interface TurnPromptQuery {
  /** Its number in the timeline, from 1. */
  turn: number;
  model: ResearchModelConfig;
  /** Whether the texts of messages are included. */
  contents: boolean;
}

/** An item of a run, as JSON. */
export interface NamedItem {
  id: string;
  json: string;
}

/**
 * Runs as the HTTP floor sees them. Everything is read from the event log; memory holds only copies of stored events.
 * All methods may throw `store_unavailable`.
 */
export interface Runs {
  /**
   * Stores a run with its first two events and begins it here if there is room, otherwise wakes the executor.
   * @throws GatewayError `overloaded` (queue full), `shutting_down`, `idempotency_key_reused`, `not_found` (the run of
   * an idempotency key was deleted).
   */
  submit(submission: Submission): Promise<SubmissionResult>;

  /**
   * The one way from an id to a run (promise 7): unknown, foreign and wrongly prefixed ids are all `not_found`.
   * `api` is the interface of the route; a research run can be read through both, a proxy task only as a task, a
   * chat completion through neither.
   */
  find(caller: Caller, api: 'responses' | 'async', id: string): Promise<RunRecord>;

  /** @throws GatewayError `invalid_parameter` (`after`, `before`) for a cursor that is unknown or foreign. */
  list(
    caller: Caller,
    api: 'responses' | 'async',
    query: RunListQuery,
  ): Promise<{ runs: RunSummary[]; hasMore: boolean }>;

  /**
   * The log after event `after`: what is stored, then live, until the terminal event was yielded, the signal aborts or the
   * gateway shuts down. Frames are bytes to be copied. A slow reader is switched back to the store.
   * `deliver`: see `FollowLogOptions`.
   * @throws GatewayError `invalid_parameter` (`after`) past the end of a run in progress.
   */
  follow(run: RunRecord, options: FollowLogOptions): AsyncIterable<LogBatch>;

  /** The response object, folded from the log at this moment (docs/api.md, "The other Responses endpoints"). */
  response(run: RunRecord): Promise<ResponseObject>;
  /** The response object as JSON. */
  responseJson(run: RunRecord): Promise<Buffer>;
  /** When its events were recorded, and what its turns used; empty for runs of versions that stored no times. */
  timeline(run: RunRecord): Promise<RunTimeline>;
  /** The prompt of a turn of a research run. @throws GatewayError `not_found` if there is none, or it is not stored. */
  turnPrompt(run: RunRecord, query: TurnPromptQuery): Promise<TurnPrompt>;
  /** Waits for the end. Rejects with the signal's reason, or `shutting_down`. */
  waitForEnd(run: RunRecord, options: { signal: AbortSignal }): Promise<ResponseObject>;
  /** The task as `GET /v1/async/:id` shows it; as JSON text, because a proxy result is copied byte for byte. */
  taskJson(run: RunRecord): Promise<string>;

  /**
   * Cancels a run, waits for its end (bounded) and returns the ended response; an ended run stays unchanged. If the store
   * is away, the work still stops and the cancel is deferred: then `store_unavailable`.
   */
  cancel(run: RunRecord): Promise<ResponseObject>;
  /** `find`, then `cancel`. A run that is driven here is stopped without a lookup in the store. */
  cancelById(caller: Caller, api: 'responses' | 'async', id: string): Promise<ResponseObject>;
  /** Cancels a run in progress, lets its readers see the end, then removes it. */
  delete(run: RunRecord): Promise<void>;

  /** The items of the caller's runs that have these ids, for `item_reference`; each run is read once. */
  findItems(caller: Caller, ids: readonly string[]): AsyncIterable<NamedItem>;
  /** Earlier turns and sources of a chain. @throws GatewayError `not_found`, or `invalid_parameter` if one is not `completed`. */
  history(caller: Caller, previousResponseId: string): Promise<FollowUp>;
  /** The settings made by items of the conversation up to and including a response. @throws GatewayError as `history`. */
  settings(caller: Caller, previousResponseId: string): Promise<ThreadSettings | undefined>;
  /**
   * The research that waits for these function outputs: that of `previous`, else the one that the last of their calls
   * names. Undefined if none waits. @throws GatewayError as `submitting/resume-research.ts`, if `previous` is given.
   */
  resumeResearch(
    caller: Caller,
    answered: FunctionOutputs & { previous?: string | undefined },
  ): Promise<ContinuedResearch | undefined>;
  /**
   * Like `history`, for a plain model: the whole conversation up to and including that response, which may be `incomplete`.
   * `pendingApprovals`: the calls that it asks approval for, by the ids of their requests; `settings`: see `settings`.
   */
  conversation(
    caller: Caller,
    previousResponseId: string,
  ): Promise<{
    messages: TurnMessage[];
    pendingApprovals: ReadonlyMap<string, string>;
    settings: ThreadSettings | undefined;
  }>;

  countOpen(): Promise<{ queued: number; inProgress: number }>;
  /** Runs that this process drives. */
  executing(): number;
  /** The public id of a run, with the prefix of this interface. */
  idOf(run: Pick<RunRecord, 'id'>, api: RunApi): string;
}

/** Re-exported for routes and answers, which must not import the store. */
export type { LogBatch, RunApi, RunId, RunRecord, RunSummary };
