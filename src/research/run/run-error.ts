import { type ErrorCode, GatewayError } from '../../base/errors.ts';
import type { TurnError } from '../../upstream/turn.ts';

const CODES = {
  timeout: 'upstream_timeout',
  rate_limit: 'rate_limit_exceeded',
  context_length: 'context_length_exceeded',
  refused: 'upstream_error',
  failed: 'upstream_error',
} as const satisfies Record<TurnError['kind'], ErrorCode>;

/** A failed turn in the codes of docs/api.md, "Errors". */
export function toRunError(error: TurnError): GatewayError {
  const { kind, message, retryAfterMs } = error;
  return new GatewayError(CODES[kind], message, { cause: error, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}
