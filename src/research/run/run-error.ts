import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE, type TurnError } from '../../upstream/turn.ts';

/**
 * A failed turn as an error with a code of docs/api.md, "Errors". `isClients`: the turn is the client's own request, so
 * if the provider refuses it, the client has to fix it.
 */
export function toRunError(error: TurnError, { isClients = false } = {}): GatewayError {
  const { kind, message, retryAfterMs } = error;
  return new GatewayError(CODE_OF_FAILURE[kind], message, {
    cause: error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(isClients && kind === 'refused' && error.blamesRequest && { type: 'invalid_request_error' }),
  });
}
