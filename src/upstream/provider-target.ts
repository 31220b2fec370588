import { SecretMask } from '../base/secrets/secret-mask.ts';
import { providerSecrets } from '../config/credential-places.ts';
import type { RemoteProviderConfig } from '../config/schema.ts';
import { type ApiTarget, type ProviderAddress, providerAddress } from '../protocol/requests/request-target.ts';
import {
  headersToClient,
  headersToProvider,
  ownHeaders,
  type Road,
  requestIdOf,
} from './credentials/provider-headers.ts';
import { type AttemptFailure, brokenStream } from './routing/attempt-failure.ts';
import { type FailoverRules, judgedBy } from './routing/failover-rules.ts';
import { failureOfAnswer, failureOfStreamError } from './routing/failure-of-answer.ts';
import { collectedBody } from './transport/collected-body.ts';
import type { ConnectionPool } from './transport/connection-pool.ts';
import {
  type AnswerHead,
  type CallLimits,
  type HeldAnswer,
  HeldCall,
  type HeldCallOptions,
  withoutMark,
} from './transport/held-call.ts';

export { MaskedBody } from '../base/secrets/secret-mask.ts';
export { decoderOf, UNASKED } from './transport/answer-decoder.ts';
export {
  type AnswerHead,
  type HeldAnswer,
  type Receiver,
  type ReceiverControl,
  withoutMark,
} from './transport/held-call.ts';

/** How much longer an answer may take that comes whole. */
export const WHOLE = 3;
/** How much longer than to its first token a model may be silent that is known to think. */
const THINKING = 3;

/** Paths whose addresses are remembered at most; clients choose them. */
const MAX_PATHS = 32;

/** What is asked of a provider: an API and a body. The provider's address and credentials are added here. */
export interface TargetRequest extends ApiTarget {
  method: string;
  /** The client's headers, or our own; those that no provider may see are left behind. Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer | string | null;
}

export interface CallOptions<T> extends HeldCallOptions<T> {
  /** How long to wait for the first token, in milliseconds; absent: no other route could be asked, this one gets all its time. */
  patience?: number | undefined;
  /** The answer comes as it is made, so that silence tells something. */
  streamed?: boolean;
}

/**
 * A provider under one credential: where its APIs are, what goes out to it and what comes back from it. Made once, so
 * that a request costs little.
 */
export class ProviderTarget {
  readonly mask: SecretMask;
  readonly config: RemoteProviderConfig;
  readonly #pool: ConnectionPool;
  readonly #rules: FailoverRules;
  readonly #base: URL;
  readonly #own: Readonly<Record<string, string>>;
  readonly #ownOfMessages: Readonly<Record<string, string>>;
  readonly #addresses = new Map<string, ProviderAddress>();
  readonly #streamedLimits: CallLimits;
  readonly #wholeLimits: CallLimits;

  /** `rules`: of the model that is asked for. */
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
    this.#wholeLimits = { ...limits, first_byte: limits.first_byte * WHOLE };
    this.#own = ownHeaders(config, credential);
    this.#ownOfMessages = ownHeaders({ ...config, wire: 'messages' }, credential);
  }

  /** Where an API is. @throws GatewayError as `providerAddress`. */
  address({ path, api }: ApiTarget): ProviderAddress {
    const name = `${api} ${path}`;
    const known = this.#addresses.get(name);
    if (known) return known;
    const address = providerAddress(this.#base, { path, api });
    if (this.#addresses.size < MAX_PATHS && !path.includes('?')) this.#addresses.set(name, address);
    return address;
  }

  /** The headers of a passed request: the client's that describe it, and what is the provider's own, which wins. */
  headersToProvider(passage: Road, incoming: TargetRequest['headers'], api: string): Record<string, string> {
    // Anthropic's API has its own way of showing a credential, whatever else the provider is used for.
    const isMessages = api === 'messages' || api.startsWith('messages/');
    return headersToProvider(passage, incoming, isMessages ? this.#ownOfMessages : this.#own);
  }

  /** The headers of an answer as a client gets them. */
  headersToClient({ headers }: Pick<TargetRequest, 'headers'>): Record<string, string> {
    const passed = headersToClient(headers);
    for (const name in passed) passed[name] = this.mask.text(passed[name] ?? '');
    return passed;
  }

  /** The provider's own id of a request. */
  requestId({ headers }: AnswerHead): string | undefined {
    const id = requestIdOf(headers);
    return id === undefined ? undefined : this.mask.text(id);
  }

  /** Sends a request and gives what the receiver makes of its answer. @throws the signal's reason. */
  call<T>(request: TargetRequest, options: CallOptions<T>): Promise<T> {
    const { method, headers, body } = request;
    const call = new HeldCall<T>(options, this.#limits(options));
    const { origin, path } = this.address(request);
    return call.send(this.#pool, {
      method,
      origin,
      path,
      headers: this.headersToProvider('held', headers, request.api),
      body,
    });
  }

  /**
   * The text of a whole answer of at most `limit` bytes.
   * @throws AttemptFailure if there is none; the signal's reason.
   */
  async text(request: TargetRequest, { limit, signal }: { limit: number; signal: AbortSignal }): Promise<string> {
    const answer = await this.call<string | AttemptFailure>(request, {
      receiver: (head, control) =>
        collectedBody<string | AttemptFailure>(control, {
          limit,
          whole: (body) =>
            head.status < 300 ? withoutMark(body).toString('utf8') : this.failureOfAnswer({ ...head, body }),
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

  /** Somebody waits: while there is another route, a silent one is not given all its time. */
  #limits({ patience, streamed = true }: { patience?: number | undefined; streamed?: boolean }): CallLimits {
    const limits = streamed ? this.#streamedLimits : this.#wholeLimits;
    return patience === undefined ? limits : { ...limits, patience };
  }

  /** How long silence is borne where the provider tells that its model thinks, in milliseconds. */
  get thinkingMs(): number {
    const { first_byte, first_token = first_byte, thinking = first_token * THINKING, idle } = this.config.timeouts;
    return Math.max(thinking, idle);
  }

  /** What a status other than 2xx means. */
  failureOfAnswer({ status, headers, body }: HeldAnswer): AttemptFailure {
    const refusal = { status, headers, text: withoutMark(body).toString('utf8') };
    return judgedBy(this.#rules, failureOfAnswer(refusal, this.mask, Date.now()));
  }

  /** What an error object inside a stream, or in an answer with status 200, means. */
  failureOfStreamError(payload: Record<string, unknown>): AttemptFailure {
    return judgedBy(this.#rules, failureOfStreamError(payload, this.mask));
  }
}
