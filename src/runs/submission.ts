import type { RunId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { TraceContext } from '../base/telemetry/trace-context.ts';
import type { RequestedWebhook } from '../protocol/requests/requested-webhook.ts';
import type { ResponseObject } from '../protocol/response.ts';
import type { LogBatch, RunApi, RunRecord, SubmissionKey } from '../store/run-store.ts';
import type { UsageTotals } from '../upstream/usage-totals.ts';
import type { RunRequest, RunReservation } from './stored/request-schema.ts';

/** Who makes a request: the user that owns runs, and the key used. */
export interface Caller {
  user: string;
  keyId: string;
  /** Runs with `store: false` that this caller may read even after their end. */
  reads?: ReadonlySet<RunId>;
}

/** A provider's answer to a proxy request. */
export interface ProxyAnswer {
  body: string;
  used: UsageTotals;
}

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
