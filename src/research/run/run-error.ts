import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE, type TurnError } from '../../upstream/turn.ts';

/**
 * A failed turn in the codes of docs/api.md, "Errors". `isClients`: what was asked is the client's own request, and a
 * provider's refusal of it is for the client to mend.
 */
export function toRunError(error: TurnError, { isClients = false } = {}): GatewayError {
  const { kind, message, retryAfterMs } = error;
  return new GatewayError(CODE_OF_FAILURE[kind], message, {
    cause: error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(isClients && kind === 'refused' && error.blamesRequest && { type: 'invalid_request_error' }),
  });
}
