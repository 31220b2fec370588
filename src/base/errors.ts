/**
 * The one error family of the gateway. Every failure that a client may see is a `GatewayError` with a code of
 * docs/api.md, "Errors". Only `http/errors.ts` knows the HTTP status of a code.
 */

/** `error.type` values of OpenAI's API. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'api_error';

/** The type of each code in docs/api.md, "Errors": those of HTTP errors and of `response.error`. */
const TYPE_OF_CODE = {
  invalid_json: 'invalid_request_error',
  invalid_parameter: 'invalid_request_error',
  missing_parameter: 'invalid_request_error',
  conflicting_parameters: 'invalid_request_error',
  conversation_locked: 'invalid_request_error',
  previous_response_not_found: 'invalid_request_error',
  response_in_progress: 'invalid_request_error',
  websocket_connection_limit_reached: 'invalid_request_error',
  unsupported_api: 'invalid_request_error',
  unsupported_parameter: 'invalid_request_error',
  unsupported_file: 'invalid_request_error',
  invalid_request_target: 'invalid_request_error',
  missing_api_key: 'authentication_error',
  invalid_api_key: 'authentication_error',
  mcp_servers_not_allowed: 'permission_error',
  passthrough_not_allowed: 'permission_error',
  origin_not_allowed: 'permission_error',
  model_not_found: 'invalid_request_error',
  not_found: 'invalid_request_error',
  method_not_allowed: 'invalid_request_error',
  request_too_large: 'invalid_request_error',
  unsupported_media_type: 'invalid_request_error',
  idempotency_key_reused: 'invalid_request_error',
  rate_limit_exceeded: 'rate_limit_error',
  concurrency_limit_exceeded: 'rate_limit_error',
  quota_exceeded: 'rate_limit_error',
  internal_error: 'api_error',
  upstream_error: 'api_error',
  overloaded: 'api_error',
  store_unavailable: 'api_error',
  shutting_down: 'api_error',
  upstream_timeout: 'api_error',
  context_length_exceeded: 'invalid_request_error',
  invalid_output: 'api_error',
  run_crashed: 'api_error',
  cancelled: 'api_error',
} as const satisfies Record<string, ErrorType>;

export type ErrorCode = keyof typeof TYPE_OF_CODE;

/** The error object of docs/api.md, "Errors", in HTTP bodies, `response.error` and failed tasks. */
export interface ErrorObject {
  message: string;
  type: ErrorType;
  param: string | null;
  code: ErrorCode;
  /** Seconds after which a retry may succeed, in what is stored of a run; HTTP has it as a header. */
  retry_after?: number | undefined;
}

/** Whether a value is an error code of the gateway. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(TYPE_OF_CODE, value);
}

export interface GatewayErrorOptions {
  /** Path of the offending field, such as `input[2].role`. */
  param?: string;
  /** Milliseconds after which a retry may succeed. Becomes `Retry-After` and `retry-after-ms`. */
  retryAfterMs?: number;
  /** Overrides the type of the code: an `upstream_error` may be the fault of the client. */
  type?: ErrorType;
  cause?: unknown;
}

/** A failure with a code of docs/api.md, "Errors". Clients see `message`: it names the fix, and never a secret. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly type: ErrorType;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param ?? null;
    this.type = options.type ?? TYPE_OF_CODE[code];
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The error object that clients see. */
  toObject(): ErrorObject {
    return { message: this.message, type: this.type, param: this.param, code: this.code };
  }

  /** The error object of a run. */
  toStored(): ErrorObject {
    const { retryAfterMs } = this;
    return { ...this.toObject(), ...(retryAfterMs !== undefined && { retry_after: Math.ceil(retryAfterMs / 1000) }) };
  }
}

/** An error about the field at `param`. `problem` is a sentence, which the message puts after the name of the field. */
export function fieldError(code: ErrorCode, param: string, problem: string): GatewayError {
  return new GatewayError(code, `${param}: ${problem}`, { param });
}

/** For `catch`: undefined if something does not exist; any other failure is thrown again. */
export function undefinedIfNotFound(thrown: unknown): undefined {
  if (!(thrown instanceof GatewayError) || thrown.code !== 'not_found') throw thrown;
}

/** The error of work that is refused or cut off because this instance is stopping. */
export function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down. Try again.', { retryAfterMs: 1000 });
}

/** Turns anything thrown into a `GatewayError`. The message of an unknown failure reveals no internals. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal_error', 'The gateway failed to handle this request.', { cause: thrown });
}

/** An error and its causes, the outermost first, with the parts of aggregates. `causeOf`: where else a cause may be. */
export function causesOf(thrown: unknown, causeOf: (error: Error) => unknown = () => undefined): unknown[] {
  const chain: unknown[] = [];
  for (let error = thrown; error !== undefined && error !== null && chain.length < 8; ) {
    chain.push(error);
    if (error instanceof AggregateError) chain.push(...error.errors.slice(0, 8));
    error = error instanceof Error ? (error.cause ?? causeOf(error)) : undefined;
  }
  return chain;
}

/** The message of anything thrown, for logs. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
