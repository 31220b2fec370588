import { GatewayError } from '../base/errors.ts';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { completeTask, forwardCall } from './forward-call.ts';
import type { ModelProxy } from './proxy-call.ts';

/** Comments before the first payload of a stream are held back this long, in milliseconds. */
const HOLD_MS = 5000;

/** What answers that are held until they are whole may take together, in bytes. */
const HELD_BYTES = 64 * 1024 * 1024;

export interface ModelProxyOptions {
  upstream: Upstream;
  /** See `Client`; 5 seconds by default. */
  holdMs?: number;
}

/** Proxy models over the routes of `upstream`. */
export function createModelProxy({ upstream, holdMs = HOLD_MS }: ModelProxyOptions): ModelProxy {
  const parts = { upstream, holdMs, memory: heldAnswers() };
  return {
    forward: (call) => forwardCall(call, parts),
    complete: (task) => completeTask(task, parts),
  };
}

/** Memory of answers that are held until they are whole, in bytes. One key alone has half of it at most. */
function heldAnswers(): FairSemaphore {
  const full = () => new GatewayError('overloaded', 'Too many large answers are being read. Try again.');
  return new FairSemaphore({ name: 'held_answers', permits: HELD_BYTES, ofOwner: 'what is left', full });
}
