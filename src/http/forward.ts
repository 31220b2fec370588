import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import { type Span, topLevelSpans } from '../protocol/json-spans.ts';
import { costOf, highestKnownPrice } from '../research/run/money.ts';
import type { Answer } from './answers/answer.ts';
import type { AppDeps } from './app-deps.ts';
import type { Call } from './endpoint.ts';
import { refuseNewWork } from './endpoint.ts';
import type { JsonBody } from './middleware/body.ts';

/** A request to pass on. */
export interface Forwarding {
  modelName: string;
  model: ProxyModelConfig;
  api: string;
  body: Buffer;
  modelAt: Span;
  encoding: 'json' | 'multipart';
  stream: boolean;
}

/** A JSON body as it is passed on. @throws GatewayError where it names two models. */
export function jsonForwarding({ raw, json }: JsonBody): Pick<Forwarding, 'body' | 'modelAt' | 'encoding' | 'stream'> {
  const [modelAt, second] = topLevelSpans(raw, 'model');
  if (!modelAt || second) {
    // Which of two a provider takes is not ours to guess: access is granted for one.
    throw new GatewayError('invalid_parameter', 'model: give this field once.', { param: 'model' });
  }
  return { body: raw, modelAt, encoding: 'json', stream: json.stream === true };
}

/** Passes a request to the provider of a proxy model, counted against the limits of its key. */
export async function forward(deps: AppDeps, { req, res, identity }: Call, forwarding: Forwarding): Promise<Answer> {
  refuseNewWork(deps);
  const { key, config, context } = identity;
  const admitted = await deps.admission.admit({
    key,
    tokens: tokensOf(forwarding),
    cost: costBefore(forwarding, key),
    announce: (headers) => announce(res, headers),
  });
  try {
    const { tokens, cost } = await deps.proxy.forward({
      ...forwarding,
      req,
      res,
      key,
      path: pathAfterV1(req),
      requestId: context.id,
      signal: context.signal,
    });
    if (cost) deps.metrics.cost(forwarding.modelName, cost, config.server.currency);
    await admitted.settle(tokens, cost);
  } catch (thrown) {
    // What a client left unfinished was not free.
    const spent = context.signal.aborted ? null : 0;
    await admitted.settle(spent, spent);
    throw thrown;
  }
  return { kind: 'written' };
}

/** Tokens of a request before they are known: about four bytes each, and the longest answer where there is one. */
export function reservedTokens(body: Buffer, answer: number): number {
  return Math.ceil(body.length / 4) + answer;
}

const ANSWERING = new Set(['chat_completions', 'completions', 'responses', 'messages']);

function tokensOf({ api, body, model }: Forwarding): number {
  return reservedTokens(body, answerOf({ api, model }));
}

function answerOf({ api, model }: Pick<Forwarding, 'api' | 'model'>): number {
  return ANSWERING.has(api) ? model.max_completion_tokens : 0;
}

/** What a request costs at most before that is known; undefined where none of its routes has a price. */
function costBefore(forwarding: Forwarding, key: KeyConfig): number | undefined {
  const { modelName, model, body } = forwarding;
  const price = highestKnownPrice(key.routes[modelName] ?? model.routes);
  return price && costOf(price, { input: reservedTokens(body, 0), output: answerOf(forwarding) });
}

/** The path after `/v1` with its query. */
function pathAfterV1({ url = '' }: IncomingMessage): string {
  return url.slice('/v1'.length);
}

function announce(res: ServerResponse, headers: Record<string, string>): void {
  if (res.headersSent) return;
  for (const name in headers) res.setHeader(name, headers[name] ?? '');
}
