import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';

/** Submissions that begin in one turn of the event loop: each costs a few milliseconds. */
const PER_TURN = 2;
/** Submissions that wait for their turn; more are refused. */
const MAX_WAITING = 5000;
/** WebSockets that are open at once, of all keys. */
const MAX_SOCKETS = 10_000;

/**
 * Memory for the bodies of requests that are being read or answered, in bytes, all of them together. What counts is
 * what has arrived: an announced length takes no place from anybody. One key has half of it at most.
 */
export function bodyMemory(limit: () => number): FairSemaphore {
  const full = () => new GatewayError('overloaded', 'The gateway is reading too many large requests. Try again.');
  return new FairSemaphore({ name: 'bodies', permits: limit, ofOwner: () => limit() / 2, full });
}

/** WebSockets that are open. One key alone has half of them at most, the next one half of the rest. */
export function socketLimit(most = MAX_SOCKETS): FairSemaphore {
  const full = () => new GatewayError('overloaded', 'Too many WebSockets are open. Try again.');
  return new FairSemaphore({ name: 'web_sockets', permits: most, ofOwner: 'what is left', full });
}

/** Submissions that begin in this turn of the event loop; see `beginInTurn`. */
export function submissionTurns(): FairSemaphore {
  const full = () =>
    new GatewayError('overloaded', 'Too many requests came at once. Try again.', { retryAfterMs: 2000 });
  return new FairSemaphore({ name: 'submissions', permits: PER_TURN, maxWaiting: MAX_WAITING, full });
}

/**
 * Lets submissions in a few at a time: whatever crowd comes at once, what runs already has its turn between them. One
 * that comes alone does not wait.
 * @throws GatewayError `overloaded` if too many wait; the signal's reason.
 */
export async function waitForTurn(turns: FairSemaphore, keyId: string, signal: AbortSignal): Promise<void> {
  const permit = await turns.acquire(keyId, signal);
  setImmediate(() => permit[Symbol.dispose]());
}
