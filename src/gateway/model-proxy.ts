import type { Upstream } from '../upstream/upstream.ts';
import { completeTask } from './complete-task.ts';
import { Doorways } from './doorway.ts';
import { forwardCall } from './forward-call.ts';
import { createMiddlewareEngine } from './middleware-engine.ts';
import type { ModelProxy } from './proxy-call.ts';

/**
 * Proxy models over the routes of `upstream`. Chat completions, where failover and speed matter most, go directly
 * through undici; everything else through http-proxy-middleware. Dispose it after the last request.
 */
export function createModelProxy({ upstream }: { upstream: Upstream }): ModelProxy & Disposable {
  const middleware = createMiddlewareEngine();
  const parts = { upstream, middleware: middleware.engine, doorways: new Doorways() };
  return {
    forward: (call) => forwardCall(call, parts),
    complete: (task) => completeTask(task, parts),
    [Symbol.dispose]: () => middleware[Symbol.dispose](),
  };
}
