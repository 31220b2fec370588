import { type ErrorCode, GatewayError } from '../base/errors.ts';
import { MAX_SDK_RETRY_MS } from '../base/retry-after.ts';

/** The HTTP status of each error code (docs/api.md, "Errors"). Only this file knows them. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_json: 400,
  invalid_parameter: 400,
  missing_parameter: 400,
  conflicting_parameters: 400,
  conversation_locked: 400,
  previous_response_not_found: 400,
  response_in_progress: 400,
  websocket_connection_limit_reached: 400,
  unsupported_api: 400,
  unsupported_parameter: 400,
  unsupported_file: 400,
  invalid_request_target: 400,
  context_length_exceeded: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  mcp_servers_not_allowed: 403,
  passthrough_not_allowed: 403,
  origin_not_allowed: 403,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  concurrency_limit_exceeded: 429,
  quota_exceeded: 429,
  internal_error: 500,
  run_crashed: 500,
  cancelled: 500,
  upstream_error: 502,
  invalid_output: 502,
  overloaded: 503,
  store_unavailable: 503,
  shutting_down: 503,
  upstream_timeout: 504,
};

/** For errors that do not say when to retry: soon, but not at once. */
const DEFAULT_RETRY_MS = 1000;

/** A failure as it goes over the wire. */
export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The answer for an error. `allow`: the `Allow` header of a 405. */
export function errorAnswer(error: GatewayError, options: { allow?: string | undefined } = {}): ErrorAnswer {
  // The provider refused the client's request, and would refuse a retry as well.
  const isRefusal = error.code === 'upstream_error' && error.type === 'invalid_request_error';
  const status = isRefusal ? 400 : STATUS[error.code];
  const headers: Record<string, string> = {};
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (status === 405 && options.allow !== undefined) headers.allow = options.allow;
  const retryMs = error.retryAfterMs ?? (status === 429 || status === 503 ? DEFAULT_RETRY_MS : undefined);
  if (retryMs !== undefined) {
    const ms = Math.max(1, Math.ceil(retryMs));
    headers['retry-after'] = String(Math.ceil(ms / 1000));
    headers['retry-after-ms'] = String(ms);
  }
  const shouldRetry = retryHint(error, retryMs);
  if (shouldRetry !== undefined) headers['x-should-retry'] = String(shouldRetry);
  return { status, headers, body: JSON.stringify({ error: error.toObject() }) };
}

/** Whether the official SDKs should retry, if the status alone would mislead them (docs/api.md, "Errors"). */
function retryHint(error: GatewayError, retryMs: number | undefined): boolean | undefined {
  if (error.code === 'quota_exceeded' || (retryMs ?? 0) > MAX_SDK_RETRY_MS) return false;
  return error.code === 'overloaded' || error.code === 'upstream_timeout' ? true : undefined;
}

/** Turns an error of Express, its router or Node's parser into one of docs/api.md, "Errors". Undefined for others. */
export function fromHttpFailure(thrown: unknown): GatewayError | undefined {
  if (thrown instanceof GatewayError || !(thrown instanceof Error) || !('status' in thrown)) return undefined;
  const { status } = thrown;
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  const [code, message] = HTTP_FAILURES[status] ?? ['invalid_parameter', 'The address of the request is malformed.'];
  return new GatewayError(code, message, { cause: thrown });
}

const HTTP_FAILURES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  404: ['not_found', 'There is nothing at this address.'],
  413: ['request_too_large', 'The request is too large.'],
  415: ['unsupported_media_type', 'This media type is not supported.'],
};
