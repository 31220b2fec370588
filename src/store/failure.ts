import { GatewayError } from '../base/errors.ts';

const RETRY_AFTER_MS = 2000;

/** The store cannot serve for now; a repeat may succeed. */
export function unavailable(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('store_unavailable', `The run store cannot be used: ${reason}.`, {
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  });
}

/** Whether the store cannot serve for now. */
export function isStoreAway(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && thrown.code === 'store_unavailable';
}

/**
 * What a backend threw, as callers of the store get it: `store_unavailable` where `reasonOf` says why it cannot serve for
 * now, `internal_error` for anything else.
 */
export function storeError(thrown: unknown, reasonOf: (thrown: unknown) => string | undefined): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const reason = reasonOf(thrown);
  if (reason !== undefined) return unavailable(reason, thrown);
  return new GatewayError('internal_error', 'The run store failed.', { cause: thrown });
}
