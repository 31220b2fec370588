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
import type { FunctionOutputs, GoingOn, ResearchRequest, TakenOver } from '../research/run/request.ts';
import type { LogBatch, RunApi, RunRecord, RunStatus, RunSummary, SubmissionKey } from '../store/run-store.ts';
import type { TurnMessage } from '../upstream/turn.ts';
import type { Used } from '../upstream/used.ts';
import type { RunTimeline } from './projections/timeline.ts';
import type { FollowLogOptions } from './reading/follow.ts';

/** Who asks: the user that owns runs, and the key used. */
export interface Caller {
  user: string;
  keyId: string;
  /** Runs with `store: false` that it reads behind their end all the same. */
  reads?: ReadonlySet<RunId>;
}

/** One non-streamed chat completion of a proxy model, run in the background (docs/api.md, "Async"). */
export interface ProxyRequest {
  kind: 'proxy';
  /** The body as the client sent it: it is forwarded without being parsed and written again. */
  body: string;
}

/** A provider's answer to it. */
export interface ProxyAnswer {
  body: string;
  used: Used;
}

export type RunRequest = ResearchRequest | PlainRequest | ProxyRequest;

/** A conversation as it was read for a request that takes part in it. */
export interface JoinedConversation {
  /** Without prefix. */
  id: string;
  /** Of its items; see `ConversationRecord`. */
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
  /** What a response shows of its request, where that is not its part that is acted on. */
  shown?: Partial<ResponseObject>;
  /** False: nothing is asked of the model, the input alone is kept for the response that follows. */
  generate?: false | undefined;
  /** How long it is kept behind its end, in milliseconds; as all others where absent. */
  keepMs?: number | undefined;
  /** The conversation that it takes part in. */
  conversation?: JoinedConversation | undefined;
  /** Who is told when it ends. Only of background work. */
  webhook?: RequestedWebhook | undefined;
  /** The client's, for the providers that work for the run. */
  trace?: TraceContext | undefined;
  /** What its use is counted under. */
  tag?: string | undefined;
  /** What a repeat of it is recognised by (docs/api.md, "In general"). */
  repeat?: RepeatKey;
  /**
   * Called with the id of a run before anything of it is stored, unless the submission is known to be a repeat:
   * replays count against no limit, so it has to be undone where one is found only then. `waits`: the run does not
   * begin at once. Where it rejects, the submission is refused with that error.
   */
  admit?: (id: RunId, options: { waits: boolean }) => Promise<HeldLimits>;
}

/** What recognises a repeated submission. */
export interface RepeatKey extends SubmissionKey {
  /** Whether this may be a repeat; where not, it is a new run even if the same was submitted before. */
  sentBefore: boolean;
}

/** The run that a submission became; `replayed`: an earlier one. */
export interface Submitted {
  /** A new run as it was submitted, whatever has come of it since. */
  run: RunRecord;
  replayed: boolean;
  /** How the log of a new run begins. */
  beginning?: LogBatch;
}

/**
 * What a run holds of its key's limits until it ends. It is stored with the run, so that whoever ends the run gives it
 * back: the instance that admitted it may be gone.
 */
export interface HeldLimits extends HeldOfOne {
  /** What it holds of the limits of its key's team, as the team was when it was admitted. */
  team?: HeldOfOne & { id: string };
}

export interface HeldOfOne {
  /** One of the places of `concurrent_runs`. */
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

/** A run, with what it holds of its key's limits. */
export interface AdmittedRun {
  id: RunId;
  keyId: string;
  held: HeldLimits;
}

/** One that has ended, with what it used. */
export interface EndedRun extends AdmittedRun {
  used: Used;
}

export interface RunListQuery {
  limit: number;
  /** By creation; `desc` where absent. */
  order?: 'asc' | 'desc';
  /** Public id of the entry behind which the page begins. */
  after?: string;
  /** Public id of the entry before which the page ends. */
  before?: string;
  status?: Exclude<RunStatus, 'queued'> | TaskStatus;
  model?: string;
}

/** A turn whose prompt is asked for. */
export interface TurnPromptQuery {
  /** Its number in the timeline, from 1. */
  turn: number;
  model: ResearchModelConfig;
  /** Whether what was said is shown, too. */
  contents: boolean;
}

/** An item of a run, as JSON. */
export interface NamedItem {
  id: string;
  json: string;
}

/**
 * Runs as the HTTP floor sees them. Everything is read from the event log; what is kept in memory is a copy of stored events.
 * All methods may throw `store_unavailable`.
 */
export interface Runs {
  /**
   * Stores a run with its first two events and begins it here where there is room, else wakes the executor.
   * @throws GatewayError `overloaded` (queue full), `shutting_down`, `idempotency_key_reused`, `not_found` (the run of
   * an idempotency key was deleted).
   */
  submit(submission: Submission): Promise<Submitted>;

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
   * The log after `after`: what is stored, then live, until the terminal event was yielded, the signal aborts or the
   * gateway shuts down. Frames are bytes to be copied. A slow reader is switched back to the store.
   * `pass`: see `FollowLogOptions`.
   * @throws GatewayError `invalid_parameter` (`after`) past the end of a run in progress.
   */
  follow(run: RunRecord, options: FollowLogOptions): AsyncIterable<LogBatch>;

  /** The response object, folded from the log at this moment (docs/api.md, "The other Responses endpoints"). */
  response(run: RunRecord): Promise<ResponseObject>;
  /** The same as JSON; that of an ended run as it was stored. */
  responseJson(run: RunRecord): Promise<Buffer>;
  /** When its events were told, and what its turns took; without times where an earlier version wrote it. */
  timeline(run: RunRecord): Promise<RunTimeline>;
  /** The prompt of a turn of a research run. @throws GatewayError `not_found` for a turn that the run has not, or whose prompt is not kept. */
  turnPrompt(run: RunRecord, query: TurnPromptQuery): Promise<TurnPrompt>;
  /** Waits for the end. Rejects with the signal's reason, or `shutting_down`. */
  ended(run: RunRecord, options: { signal: AbortSignal }): Promise<ResponseObject>;
  /** The task as `GET /v1/async/:id` shows it: JSON text, because a proxy result is passed on byte by byte. */
  taskJson(run: RunRecord): Promise<string>;

  /**
   * Cancels, waits for the end (bounded) and gives the ended response; an ended run is given unchanged. Where the store
   * is away the work stops all the same, and the cancel is kept: then `store_unavailable`.
   */
  cancel(run: RunRecord): Promise<ResponseObject>;
  /** `find`, then `cancel`. A run that is driven here is stopped without asking the store whose it is. */
  cancelById(caller: Caller, api: 'responses' | 'async', id: string): Promise<ResponseObject>;
  /** Cancels a run in progress, lets its readers see the end, then removes it. */
  delete(run: RunRecord): Promise<void>;

  /** The items of the caller's runs that have these ids, for `item_reference`; each run is read once. */
  findItems(caller: Caller, ids: readonly string[]): AsyncIterable<NamedItem>;
  /** Earlier turns and sources of a chain. `not_found`, or `invalid_parameter` where one is not `completed`. */
  history(caller: Caller, previousResponseId: string): Promise<TakenOver>;
  /** What items of the conversation up to and with a response have set. @throws GatewayError as `history`. */
  settings(caller: Caller, previousResponseId: string): Promise<ThreadSettings | undefined>;
  /**
   * The research that waits for these outputs of functions: that of `previous`, else the one that the last of their calls
   * names. Undefined where none waits. @throws GatewayError as `goOn` of its own, where `previous` is named.
   */
  goOn(caller: Caller, answered: FunctionOutputs & { previous?: string | undefined }): Promise<GoingOn | undefined>;
  /**
   * As `history`, for a plain model: the whole conversation up to and with that response, an `incomplete` one too. `asked`:
   * the calls that it asks approval for, by the ids of their requests; `settings`: what items of it have set.
   */
  conversation(
    caller: Caller,
    previousResponseId: string,
  ): Promise<{
    messages: TurnMessage[];
    asked: ReadonlyMap<string, string>;
    settings: ThreadSettings | undefined;
  }>;

  countOpen(): Promise<{ queued: number; inProgress: number }>;
  /** Runs that this process drives. */
  executing(): number;
  /** The public id of a run, with the prefix of this interface. */
  idOf(run: Pick<RunRecord, 'id'>, api: RunApi): string;
}

/** Re-exported for routes and answers, which do not know the store. */
export type { LogBatch, RunApi, RunId, RunRecord, RunSummary };
