import type { ServerResponse } from 'node:http';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';
import type { CallAccount } from './call-account.ts';
import type { PassedRequest } from './replace-spans.ts';

/** A request on a proxy model, checked and ready to be passed to a provider. */
export interface ProxyCall {
  /** Nothing was written to it yet but `x-request-id` and the like, by `setHeader`. */
  res: ServerResponse;
  /** What goes to a provider, with the body as it came. */
  request: PassedRequest;
  /** Name of the model as configured, and its configuration. */
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig;
  /** Whether the body asks for a stream. */
  stream: boolean;
  /** See `DrawQuery`. */
  conversation?: () => string | undefined;
  /** Takes down the answer, which is complete there where it may be given again. */
  copy?: AnswerCopy | undefined;
  /** What the call uses is added up here, also where it fails or is left. */
  account: CallAccount;
  /** Aborts when the client leaves: the provider's request ends with it. */
  signal: AbortSignal;
}

/** One non-streamed chat completion for a background task. */
export interface ProxyTask {
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig | undefined;
  /** The request body as the client sent it. */
  body: string;
  account: CallAccount;
  signal: AbortSignal;
}

/** Passes requests on proxy models to their providers. */
export interface ModelProxy {
  /**
   * Passes the request on and writes the provider's answer to `res` (docs/api.md, "Chat completions" and
   * docs/failover.md, "What a client gets when every route failed"). False where an answer that had begun broke off.
   * @throws GatewayError `upstream_error`, `upstream_timeout`, `rate_limit_exceeded`, `context_length_exceeded` while
   *   nothing has been written; the signal's reason.
   */
  forward(call: ProxyCall): Promise<boolean>;
  /**
   * Makes one chat completion that is not streamed: the provider's body as it came.
   * @throws GatewayError as `forward`; the signal's reason.
   */
  complete(task: ProxyTask): Promise<string>;
}
