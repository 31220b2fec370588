import { SecretMask } from '../base/secrets/secret-mask.ts';
import { providerSecrets } from '../config/credential-places.ts';
import type { RemoteProviderConfig } from '../config/schema.ts';
import { type ApiTarget, type ProviderAddress, providerAddress } from '../protocol/requests/request-target.ts';
import {
  headersToClient,
  headersToProvider,
  ownHeaders,
  requestIdOf,
  type TransferKind,
} from './credentials/provider-headers.ts';
import { type AttemptFailure, brokenStream } from './routing/attempt-failure.ts';
import { applyRules, type FailoverRules } from './routing/failover-rules.ts';
import { failureOfAnswer, failureOfStreamError } from './routing/failure-of-answer.ts';
import { collectedBody } from './transport/collected-body.ts';
import type { ConnectionPool } from './transport/connection-pool.ts';
import {
  type AnswerHead,
  type BufferedAnswer,
  type CallLimits,
  ProviderCall,
  type ProviderCallOptions,
  withoutByteOrderMark,
} from './transport/provider-call.ts';

export { MaskedBody } from '../base/secrets/secret-mask.ts';
export { decoderOf, UNREQUESTED_CODING } from './transport/answer-decoder.ts';
export {
  type AnswerHead,
  type BufferedAnswer,
  type Receiver,
  type ReceiverControl,
  withoutByteOrderMark,
} from './transport/provider-call.ts';

/** How many times longer an answer may take that is not streamed. */
export const WHOLE_ANSWER_FACTOR = 3;
/** How many times the first-token limit a model may stay silent while its provider says that it thinks. */
const THINKING_FACTOR = 3;

/** How many addresses are cached; clients choose the paths. */
const MAX_PATHS = 32;

/** A request to a provider: an API and a body. `ProviderTarget` adds the address and the credentials. */
export interface TargetRequest extends ApiTarget {
  method: string;
  /** The client's headers, or our own; those that no provider may see are dropped. Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer | string | null;
}

export interface CallOptions<T> extends ProviderCallOptions<T> {
  /** How long to wait for the first token, in milliseconds; absent: as long as the timeouts allow. */
  patience?: number | undefined;
  /** The answer is streamed, so the shorter limits apply. True where absent. */
  streamed?: boolean;
}

/**
 * A provider under one credential: the addresses of its APIs, the headers that go out and come back, and its calls. Made
 * once, so that a request costs little.
 */
export class ProviderTarget {
  readonly mask: SecretMask;
  readonly config: RemoteProviderConfig;
  readonly #pool: ConnectionPool;
  readonly #rules: FailoverRules;
  readonly #base: URL;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  readonly #messagesHeaders: Readonly<Record<string, string>>;
  readonly #addresses = new Map<string, ProviderAddress>();
  readonly #streamedLimits: CallLimits;
  readonly #wholeLimits: CallLimits;

  /** `rules`: the failover rules of the requested model. */
  constructor(
    provider: { config: RemoteProviderConfig; pool: ConnectionPool },
    credential: string | undefined,
    rules?: FailoverRules,
  ) {
    const { config, pool } = provider;
    this.config = config;
    this.mask = new SecretMask([...(credential === undefined ? [] : [credential]), ...providerSecrets(config)]);
    this.#pool = pool;
    this.#rules = rules ?? {};
    this.#base = new URL(config.base_url);
    const { patience: _, ...limits } = config.timeouts;
    this.#streamedLimits = limits;
    this.#wholeLimits = { ...limits, first_byte: limits.first_byte * WHOLE_ANSWER_FACTOR };
    this.#ownHeaders = ownHeaders(config, credential);
    this.#messagesHeaders = ownHeaders({ ...config, wire: 'messages' }, credential);
  }

  /** The address of an API. @throws GatewayError as `providerAddress`. */
  address({ path, api }: ApiTarget): ProviderAddress {
    const name = `${api} ${path}`;
    const cached = this.#addresses.get(name);
    if (cached) return cached;
    const address = providerAddress(this.#base, { path, api });
    if (this.#addresses.size < MAX_PATHS && !path.includes('?')) this.#addresses.set(name, address);
    return address;
  }

  /** The headers of a proxied request: the client's that describe it, and the configured ones, which win. */
  headersToProvider(kind: TransferKind, incoming: TargetRequest['headers'], api: string): Record<string, string> {
    // Anthropic's API takes the credential in a header of its own, whatever wire the provider is configured for.
    const isMessages = api === 'messages' || api.startsWith('messages/');
    return headersToProvider(kind, incoming, isMessages ? this.#messagesHeaders : this.#ownHeaders);
  }

  headersToClient({ headers }: Pick<TargetRequest, 'headers'>): Record<string, string> {
    const forwarded = headersToClient(headers);
    for (const name in forwarded) forwarded[name] = this.mask.maskText(forwarded[name] ?? '');
    return forwarded;
  }

  /** The provider's own id of a request. */
  requestId({ headers }: AnswerHead): string | undefined {
    const id = requestIdOf(headers);
    return id === undefined ? undefined : this.mask.maskText(id);
  }

  /** Sends a request and resolves to what the receiver makes of the answer. @throws the signal's reason. */
  call<T>(request: TargetRequest, options: CallOptions<T>): Promise<T> {
    const { method, headers, body } = request;
    const call = new ProviderCall<T>(options, this.#limits(options));
    const { origin, path } = this.address(request);
    return call.send(this.#pool, {
      method,
      origin,
      path,
      headers: this.headersToProvider('buffered', headers, request.api),
      body,
    });
  }

  /**
   * The text of a whole answer of at most `limit` bytes.
   * @throws AttemptFailure if the call fails or the answer is longer; the signal's reason.
   */
  async text(request: TargetRequest, { limit, signal }: { limit: number; signal: AbortSignal }): Promise<string> {
    const answer = await this.call<string | AttemptFailure>(request, {
      receiver: (head, control) =>
        collectedBody<string | AttemptFailure>(control, {
          limit,
          whole: (body) =>
            head.status < 300 ? withoutByteOrderMark(body).toString('utf8') : this.failureOfAnswer({ ...head, body }),
          tooLong: () => brokenStream(`its answer is longer than ${limit} bytes`),
          broken: (failure) => failure,
        }),
      unanswered: (failure) => failure,
      streamed: false,
      signal,
    });
    if (typeof answer !== 'string') throw answer;
    return answer;
  }

  #limits({ patience, streamed = true }: { patience?: number | undefined; streamed?: boolean }): CallLimits {
    const limits = streamed ? this.#streamedLimits : this.#wholeLimits;
    return patience === undefined ? limits : { ...limits, patience };
  }

  /** How long a stream may be silent while the provider says that its model thinks, in milliseconds. */
  get thinkingMs(): number {
    const { first_byte, first_token = first_byte, thinking, idle } = this.config.timeouts;
    return Math.max(thinking ?? first_token * THINKING_FACTOR, idle);
  }

  /** The failure that a status other than 2xx means. */
  failureOfAnswer({ status, headers, body }: BufferedAnswer): AttemptFailure {
    const refusal = { status, headers, text: withoutByteOrderMark(body).toString('utf8') };
    return applyRules(this.#rules, failureOfAnswer(refusal, this.mask, Date.now()));
  }

  /** The failure that an error object inside a stream, or in an answer with status 200, means. */
  failureOfStreamError(payload: Record<string, unknown>): AttemptFailure {
    return applyRules(this.#rules, failureOfStreamError(payload, this.mask));
  }
}
