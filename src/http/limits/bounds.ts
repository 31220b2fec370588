import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import type { GatewayConfig } from '../../config/schema.ts';

/** How many submissions start in one turn of the event loop: each takes a few milliseconds. */
const PER_TURN = 2;
/** How many submissions may wait for their turn; more are refused. */
const MAX_WAITING = 5000;
/** How many WebSockets may be open, of all keys together. */
const MAX_SOCKETS = 10_000;

/**
 * Memory for all bodies of requests that are being read or answered, in bytes. Only bytes that have arrived count, not an
 * announced length. A single key gets at most half of it.
 */
export function bodyMemory(limit: () => number): FairSemaphore {
  const full = () => new GatewayError('overloaded', 'The gateway is reading too many large requests. Try again.');
  return new FairSemaphore({ name: 'bodies', permits: limit, perOwner: () => limit() / 2, fullError: full });
}

/** The largest body that is accepted, in bytes: a single key could never send a larger one. */
export function maxBody({ server }: Pick<GatewayConfig, 'server'>): number {
  return Math.min(server.bodyLimitBytes, Math.floor(server.bodyMemoryBytes / 2));
}

/** Limits the open WebSockets. A single key gets at most half of them, the next one half of the rest. */
export function socketLimit(max = MAX_SOCKETS): FairSemaphore {
  const full = () => new GatewayError('overloaded', 'Too many WebSockets are open. Try again.');
  return new FairSemaphore({ name: 'web_sockets', permits: max, perOwner: 'what is left', fullError: full });
}

/** Limits the submissions that start in one turn of the event loop; see `waitForTurn`. */
export function submissionTurns(): FairSemaphore {
  const full = () =>
    new GatewayError('overloaded', 'Too many requests came at once. Try again.', { retryAfterMs: 2000 });
  return new FairSemaphore({ name: 'submissions', permits: PER_TURN, maxWaiting: MAX_WAITING, fullError: full });
}

/**
 * Waits until a submission may start. Only a few start in each turn of the event loop, so that a burst does not delay
 * running work. A submission that comes alone does not wait.
 * @throws GatewayError `overloaded` if too many wait; the signal's reason.
 */
export async function waitForTurn(turns: FairSemaphore, keyId: string, signal: AbortSignal): Promise<void> {
  const permit = await turns.acquire(keyId, signal);
  setImmediate(() => permit[Symbol.dispose]());
}
