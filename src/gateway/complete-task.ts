import { GatewayError } from '../base/errors.ts';
import { topLevelSpans } from '../protocol/json-spans.ts';
import { gatewayErrorOf } from '../upstream/gateway-error.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { askProvider } from './ask-provider.ts';
import { completionReceiver } from './choose-receiver.ts';
import { dispatchEngine } from './dispatch-engine.ts';
import type { Doorways } from './doorway.ts';
import { throughRoutes } from './failover.ts';
import { outgoing, type PassedRequest } from './outgoing-request.ts';
import type { ProxyTask } from './proxy-call.ts';
import { unstreamed } from './replace-spans.ts';

/**
 * Makes the chat completion of a background task: nobody waits, so it waits itself where providers ask for that.
 * @throws GatewayError as a failed task shows it; the signal's reason.
 */
export async function completeTask(
  task: ProxyTask,
  { upstream, doorways }: { upstream: Upstream; doorways: Doorways },
): Promise<string> {
  const { modelName, model, key, signal } = task;
  const request = requestOf(task);
  const passed = await throughRoutes({
    tries: upstream.attempts({ modelName, model, key }),
    modelName,
    ask: (route) => {
      const doorway = doorways.of(route);
      return askProvider(outgoing(request, route, doorway), {
        engine: dispatchEngine,
        timeouts: route.provider.config.timeouts,
        receiver: completionReceiver(doorway),
        signal,
      });
    },
    attended: false,
    signal,
  });
  if (passed.is === 'delivered') throw new Error('a task has no client to deliver to');
  if (passed.is === 'refused') throw gatewayErrorOf(modelName, [passed]);
  doorways.of(passed.route).mask.apply(passed.answer.body);
  return passed.answer.body.toString('utf8');
}

function requestOf(task: ProxyTask): PassedRequest {
  const body = Buffer.from(task.body);
  const [modelAt] = topLevelSpans(body, 'model');
  if (!modelAt) throw new GatewayError('internal_error', 'The stored request names no model.');
  return {
    method: 'POST',
    path: '/chat/completions',
    api: 'chat_completions',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body,
    modelAt,
    encoding: 'json',
    changes: unstreamed(body),
  };
}
