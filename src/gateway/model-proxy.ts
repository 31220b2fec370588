import type { Upstream } from '../upstream/upstream.ts';
import { completeTask } from './complete-task.ts';
import { Doorways } from './doorway.ts';
import { forwardCall } from './forward-call.ts';
import { createMiddlewareEngine } from './middleware-engine.ts';
import type { ModelProxy } from './proxy-call.ts';

/** Comments before the first payload of a stream are held back this long, in milliseconds. */
const HOLD_MS = 5000;

export interface ModelProxyOptions {
  upstream: Upstream;
  /** See `RelayedStreamOptions`; 5 seconds by default. */
  holdMs?: number;
}

/**
 * Proxy models over the routes of `upstream`. Chat completions, where failover and speed matter most, go directly
 * through undici; everything else through http-proxy-middleware. Dispose it after the last request.
 */
export function createModelProxy({ upstream, holdMs = HOLD_MS }: ModelProxyOptions): ModelProxy & Disposable {
  const middleware = createMiddlewareEngine();
  const parts = { upstream, middleware: middleware.engine, doorways: new Doorways(), holdMs };
  return {
    forward: (call) => forwardCall(call, parts),
    complete: (task) => completeTask(task, parts),
    [Symbol.dispose]: () => middleware[Symbol.dispose](),
  };
}
