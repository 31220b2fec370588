import { GatewayError } from '../base/errors.ts';
import type { FairSemaphore } from '../base/fair-semaphore.ts';
import { workOwner } from '../base/load/event-loop.ts';
import { topLevelSpans } from '../protocol/requests/json-spans.ts';
import { gatewayErrorOf } from '../upstream/provider-answer.ts';
import { targetOf, type Upstream } from '../upstream/upstream.ts';
import { completionReceiver } from './choose-receiver.ts';
import { withFailover } from './failover.ts';
import { MeteredCall } from './metered-call.ts';
import { type PassedRequest, requestFor } from './passed-request.ts';
import type { ProxyTask } from './proxy-call.ts';
import { unstreamed } from './replace-spans.ts';
import { streamOf } from './streams/stream-kind.ts';
import { requestOfStream } from './streams/stream-request.ts';

/**
 * Makes the chat completion of a background task: nobody waits, so it waits itself where providers ask for that.
 * @throws GatewayError as a failed task shows it; the signal's reason.
 */
export async function completeTask(
  task: ProxyTask,
  { upstream, memory }: { upstream: Upstream; memory: FairSemaphore },
): Promise<string> {
  const { modelName, model, key, account, signal } = task;
  const request = requestOf(task);
  using held = memory.open(workOwner());
  const kind = streamOf(request.api, modelName, requestOfStream(request.body));
  const passed = await withFailover({
    attempts: upstream.attempts({ modelName, model, key }),
    modelName,
    ask: ({ route }, lane) => {
      const target = targetOf(route);
      const sent = requestFor(request, route.model);
      const metered = new MeteredCall(account.attempt(route, sent), request.api);
      return metered.result(
        target.call(sent, {
          receiver: completionReceiver({ target, memory: held, metered, kind }),
          sent: metered.sent,
          unanswered: (failure) => ({ is: 'failed', failure }),
          signal: lane.signal,
        }),
      );
    },
    hedgeMs: model.hedge_after,
    signal,
  });
  if (passed.is === 'delivered') throw new Error('a task has no client to deliver to');
  if (passed.is === 'refused') throw gatewayErrorOf(modelName, [passed]);
  targetOf(passed.route).mask.apply(passed.answer.body);
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
    headers: { ...task.trace, 'content-type': 'application/json', accept: 'application/json' },
    body,
    modelAt,
    encoding: 'json',
    changes: unstreamed(body),
  };
}
