import { fieldError } from '../base/errors.ts';
import type { ProxyModelConfig } from '../config/schema.ts';
import { sendCachedAnswer } from '../gateway/answer-cache.ts';
import { CallAccount } from '../gateway/call-account.ts';
import type { ProxiedRequest } from '../gateway/proxied-request.ts';
import { conversationKey } from '../protocol/requests/conversation-key.ts';
import { type Span, topLevelSpans } from '../protocol/requests/json-spans.ts';
import { costOf, highestKnownPrice } from '../upstream/price.ts';
import { tagOf } from '../usage/tag.ts';
import type { Answer } from './answers/answer.ts';
import type { AppDeps } from './app-deps.ts';
import { type Call, refuseNewWork } from './endpoint.ts';
import { worstCase } from './limits/worst-case.ts';
import type { JsonBody } from './middleware/body.ts';
import { providerPath } from './provider-path.ts';

export interface ForwardRequest {
  modelName: string;
  model: ProxyModelConfig;
  api: string;
  body: Buffer;
  modelAt: Span;
  /** The parsed body; absent for a form. */
  fields?: Readonly<Record<string, unknown>>;
}

/** As `forward`, for a JSON body. @throws GatewayError also if the body names two models. */
export function forwardJson(
  deps: AppDeps,
  call: Call,
  { body, ...rest }: { body: JsonBody } & Pick<ForwardRequest, 'modelName' | 'model' | 'api'>,
): Promise<Answer> {
  const { raw, json } = body;
  return forward(deps, call, { ...rest, body: raw, modelAt: findModelSpan(raw), fields: json });
}

/** Where a JSON body names its model. @throws GatewayError if it names two, such as `Model` and `model`. */
export function findModelSpan(raw: Buffer): Span {
  const [modelAt, second] = topLevelSpans(raw, 'model', { anyCase: true });
  if (!modelAt || second) {
    // The key may use one of them, and the provider could pick the other.
    throw fieldError('invalid_parameter', 'model', 'give this field once.');
  }
  return modelAt;
}

/** Forwards a request to the provider of a proxy model, and counts it against the limits of its key. */
export async function forward(deps: AppDeps, { req, res, identity }: Call, options: ForwardRequest): Promise<Answer> {
  refuseNewWork(deps);
  const { key, config, context } = identity;
  const { modelName, model, api, body, modelAt, fields } = options;
  const routes = key.routes[modelName] ?? model.routes;
  const tag = tagOf(req.headers, fields?.metadata);
  const path = providerPath(req.url, key);
  const encoding = fields ? 'json' : 'multipart';
  const request: ProxiedRequest = { method: req.method, path, api, headers: req.headers, body, modelAt, encoding };
  const cacheEntry = deps.answerCache.entryOf({ request, fields, modelName, model, key });
  const cached = await cacheEntry?.find();
  const worst = cached ? undefined : worstCase({ api, body, fields }, { ...model, routes });
  // What the model writes in the background after the call has ended is not visible here.
  const account = new CallAccount({ unseen: api === 'responses' && fields?.background ? (worst?.output ?? 0) : 0 });
  const usage = deps.usage.begin({ key: key.id, team: key.team, model: modelName, tag });
  const price = worst && highestKnownPrice(routes);
  const admitted = await deps.admission.admit({
    key,
    tokens: worst && worst.input + worst.output,
    cost: price && costOf(price, worst),
    res,
    usedSoFar: () => account.used,
    onNoted: (used) => usage.update(used),
  });
  /** Undefined if the call was refused, failed or was abandoned before an answer was relayed. */
  let isComplete: boolean | undefined;
  try {
    if (cacheEntry) res.setHeader('x-cache', cached ? 'hit' : 'miss');
    using copy = cacheEntry?.copy();
    if (cached) {
      sendCachedAnswer(res, cached);
      isComplete = true;
    } else {
      const conversation = () => fields && conversationKey(api, fields);
      const { signal } = context;
      const stream = fields?.stream === true;
      const call = { request, res, modelName, model, key, stream, conversation, copy, account, signal };
      isComplete = await deps.proxy.forward(call);
    }
    if (copy) void cacheEntry?.store(copy);
  } finally {
    // What was sent and delivered is counted however the call ended. A disconnect of the client is no failure.
    const { used } = account;
    const failed = isComplete === undefined ? !context.disconnected : !isComplete || res.statusCode >= 400;
    if (used.cost > 0) deps.metrics.cost(modelName, used.cost, config.server.currency);
    usage.end(used, { failed });
    await admitted.settle(used);
  }
  return { kind: 'written' };
}
