import type { ServerResponse } from 'node:http';
import type { Permit } from '../base/fair-semaphore.ts';
import type { ProviderTarget } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';
import type { AnswerKind } from './answer-kind.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';
import type { ContinuedAnswer } from './answers/continued-answer.ts';
import type { AttemptMeter, CallAccount } from './call-account.ts';
import type { ProxiedRequest } from './proxied-request.ts';

/** The client that an answer is written to as it arrives. */
export interface Client {
  res: ServerResponse;
  /** Records what is written. */
  copy?: AnswerCopy | undefined;
  /** Whether the client requested a stream. */
  stream: boolean;
  /** How long keep-alive comments are held back before the first content, in milliseconds. */
  holdMs: number;
  /** The answer that several routes may write one after the other; absent: a stream that breaks off has failed. */
  continued?: ContinuedAnswer | undefined;
}

/** A proxied call: what all its attempts share. */
export interface CallContext {
  request: ProxiedRequest;
  modelName: string;
  kind: AnswerKind;
  account: CallAccount;
  /** Memory for answers that are buffered until they are complete. */
  memory: Permit;
  /** Absent for a background task, whose answer is always buffered until it is complete. */
  client?: Client | undefined;
}

/** A call during one attempt: what the receivers of the answer know. */
export interface AttemptContext extends Omit<CallContext, 'request' | 'account'> {
  /** See `ProxiedRequest`. */
  api: string;
  route: Route;
  target: ProviderTarget;
  meter: AttemptMeter;
  /** Called before the first bytes go out: from then on no other route can answer. */
  onBegin(): void;
}

/** The context of an answer that is relayed to a client as it arrives. */
export type RelayContext = AttemptContext & { client: Client };
