import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE, type TurnError } from '../../upstream/turn.ts';

/** A failed turn in the codes of docs/api.md, "Errors". */
export function toRunError(error: TurnError): GatewayError {
  const { kind, message, retryAfterMs } = error;
  return new GatewayError(CODE_OF_FAILURE[kind], message, {
    cause: error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
