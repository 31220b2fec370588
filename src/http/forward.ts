import { fieldError } from '../base/errors.ts';
import type { ProxyModelConfig } from '../config/schema.ts';
import { CallAccount } from '../gateway/call-account.ts';
import { giveAgain } from '../gateway/kept-answers.ts';
import { conversationIn } from '../protocol/requests/conversation-key.ts';
import { type Span, topLevelSpans } from '../protocol/requests/json-spans.ts';
import { costOf, highestKnownPrice } from '../upstream/price.ts';
import { tagOf } from '../usage/tag.ts';
import type { Answer } from './answers/answer.ts';
import type { AppDeps } from './app-deps.ts';
import { type Call, refuseNewWork } from './endpoint.ts';
import { worstCase } from './limits/worst-case.ts';
import type { JsonBody } from './middleware/body.ts';
import { providerPath } from './provider-path.ts';

/** A request to pass on. */
export interface Forwarding {
  modelName: string;
  model: ProxyModelConfig;
  api: string;
  body: Buffer;
  modelAt: Span;
  encoding: 'json' | 'multipart';
  stream: boolean;
  /** The request as it was read; absent where it is a form. */
  fields?: Readonly<Record<string, unknown>>;
}

/** A JSON body as it is passed on to a model. @throws GatewayError where it names two models. */
export function jsonForwarding(
  { raw, json }: JsonBody,
  { modelName, model, api }: Pick<Forwarding, 'modelName' | 'model' | 'api'>,
): Forwarding {
  const modelAt = modelIn(raw);
  return { modelName, model, api, body: raw, modelAt, encoding: 'json', stream: json.stream === true, fields: json };
}

/** Where a JSON body names its model. @throws GatewayError where it names two, `Model` beside `model` too. */
export function modelIn(raw: Buffer): Span {
  const [modelAt, second] = topLevelSpans(raw, 'model', { anyCase: true });
  if (!modelAt || second) {
    // Which of two a provider takes is not ours to guess: access is granted for one.
    throw fieldError('invalid_parameter', 'model', 'give this field once.');
  }
  return modelAt;
}

/** Passes a request to the provider of a proxy model, counted against the limits of its key. */
export async function forward(deps: AppDeps, { req, res, identity }: Call, forwarding: Forwarding): Promise<Answer> {
  refuseNewWork(deps);
  const { key, config, context } = identity;
  const { modelName, model, api, body, modelAt, encoding, stream, fields } = forwarding;
  const routes = key.routes[modelName] ?? model.routes;
  const tag = tagOf(req.headers, fields?.metadata);
  const path = providerPath(req.url, key);
  const request = { method: req.method, path, api, headers: req.headers, body, modelAt, encoding };
  const place = deps.answers.placeOf({ request, fields, modelName, model, key });
  const kept = await place?.find();
  const worst = kept ? undefined : worstCase({ api, body, fields }, { ...model, routes });
  // Nobody here sees what is written once the call is over.
  const account = new CallAccount({ unseen: api === 'responses' && fields?.background ? (worst?.output ?? 0) : 0 });
  const usage = deps.usage.begin({ key: key.id, team: key.team, model: modelName, tag });
  const price = worst && highestKnownPrice(routes);
  const admitted = await deps.admission.admit({
    key,
    tokens: worst && worst.input + worst.output,
    cost: price && costOf(price, worst),
    res,
    usedSoFar: () => account.used,
    noted: (used) => usage.noted(used),
  });
  /** Undefined where it was refused, failed or left before an answer was passed on. */
  let whole: boolean | undefined;
  try {
    if (place) res.setHeader('x-cache', kept ? 'hit' : 'miss');
    using copy = place?.copy();
    if (kept) {
      giveAgain(res, kept);
      whole = true;
    } else {
      const conversation = () => fields && conversationIn(api, fields);
      const { signal } = context;
      const call = { request, res, modelName, model, key, stream, conversation, copy, account, signal };
      whole = await deps.proxy.forward(call);
    }
    if (copy) void place?.keep(copy);
  } finally {
    // Whatever became of it: what was sent and delivered is counted. A client that left is no failure.
    const { used } = account;
    const failed = whole === undefined ? !context.left : !whole || res.statusCode >= 400;
    if (used.cost > 0) deps.metrics.cost(modelName, used.cost, config.server.currency);
    usage.ended(used, { failed });
    await admitted.settle(used);
  }
  return { kind: 'written' };
}
