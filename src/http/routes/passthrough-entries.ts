import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import type { PassthroughCall } from '../../gateway/passthrough/passthrough.ts';
import { isPlainPath } from '../../protocol/requests/request-target.ts';
import { emptyTotals } from '../../upstream/usage-totals.ts';
import { tagOf } from '../../usage/tag.ts';
import type { Answer } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import { type Call, refuseNewWork } from '../endpoint.ts';
import { providerPath } from '../provider-path.ts';

/** One entry of `passthrough` in the configuration. */
export type PassthroughEntry = GatewayConfig['passthrough'][number];

/** The most specific entry that covers a path (with `/v1`, without query). */
export function entryFor(path: string, { passthrough }: GatewayConfig): PassthroughEntry | undefined {
  if (passthrough.length === 0 || !isPlainPath(path)) return undefined;
  const covering = passthrough.filter((entry) => isUnder(path, entry.path));
  return covering.sort((a, b) => b.path.length - a.path.length)[0];
}

/** Whether a key may use the paths of an entry. */
export function mayUsePath({ passthrough }: KeyConfig, { path }: PassthroughEntry): boolean {
  return passthrough === 'all' || passthrough.some((allowed) => isUnder(path, allowed));
}

/** The passthrough call of a request. @throws GatewayError `passthrough_not_allowed` if the key may not use the path. */
export function passthroughCall(url: string, entry: PassthroughEntry, key: KeyConfig): PassthroughCall {
  if (!mayUsePath(key, entry)) {
    throw new GatewayError(
      'passthrough_not_allowed',
      `This key may not use ${entry.path}: its passthrough does not name it.`,
    );
  }
  return { provider: entry.provider, key, path: providerPath(url, key), api: entry.path.slice('/v1/'.length) };
}

/** Streams a call to its provider, and counts it as one request of its key. */
export async function passOn(deps: AppDeps, { req, res, identity }: Call, entry: PassthroughEntry): Promise<Answer> {
  refuseNewWork(deps);
  const { key, context } = identity;
  const call = passthroughCall(req.url, entry, key);
  const tag = tagOf(req.headers);
  const admitted = await deps.admission.admit({ key, tokens: 0, res });
  let isComplete = false;
  try {
    // A client that sent `Expect: 100-continue` waits for this before it sends the body.
    if (req.headers.expect !== undefined) res.writeContinue();
    context.signal.throwIfAborted();
    context.signal.addEventListener('abort', () => res.destroy(), { once: true });
    await deps.passthrough.pass(req, res, call);
    isComplete = res.statusCode < 400;
  } finally {
    const failed = !isComplete && !context.disconnected;
    deps.usage.add({ labels: { key: key.id, team: key.team, model: entry.path, tag }, used: emptyTotals(), failed });
    await admitted.settle();
  }
  return { kind: 'written' };
}

function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}

/** Whether a request wants a WebSocket. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
