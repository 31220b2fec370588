import type { ServerResponse } from 'node:http';
import type { Permit } from '../base/fair-semaphore.ts';
import type { ProviderTarget } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';
import type { ContinuedAnswer } from './answers/continued-answer.ts';
import type { AttemptMeter, CallAccount } from './call-account.ts';
import type { PassedRequest } from './replace-spans.ts';
import type { StreamKind } from './streams/stream-kind.ts';

/** Whom an answer goes to piece by piece. */
export interface Client {
  res: ServerResponse;
  /** Takes down what goes out. */
  copy?: AnswerCopy | undefined;
  /** Whether a stream was asked for. */
  stream: boolean;
  /** How long comments that keep the connection alive are held back before the first content, in milliseconds. */
  holdMs: number;
  /** The answer that several routes may write one after the other; absent: what breaks fails. */
  continued?: ContinuedAnswer | undefined;
}

/** A call before a route is chosen. */
export interface RoutedCall {
  request: PassedRequest;
  modelName: string;
  kind: StreamKind;
  account: CallAccount;
  /** For answers that are held until they are whole. */
  memory: Permit;
  /** Absent for a background task: its answer is held until it is whole, whatever it is. */
  client?: Client | undefined;
}

/** A call while a route is asked: what the receivers of the answer know. */
export interface AttemptContext extends Omit<RoutedCall, 'request' | 'account'> {
  /** See `PassedRequest`. */
  api: string;
  route: Route;
  target: ProviderTarget;
  meter: AttemptMeter;
  /** Called before the first bytes go out: no other route is waited for then. */
  onBegin(): void;
}

/** The context of an answer that passes to a client as it comes. */
export type PassingContext = AttemptContext & { client: Client };
