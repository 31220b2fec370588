import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { configSchema, type GatewayConfig } from '../../../src/config/schema.ts';
import type { ChatModel, TurnPart, TurnRequest } from '../../../src/upstream/turn.ts';
import { createUpstream, type Upstream, type UpstreamOptions } from '../../../src/upstream/upstream.ts';

export const QUESTION: TurnRequest = { messages: [{ role: 'user', content: 'What is a test?' }] };

/** Pauses that do not slow tests down. */
export const FAST = { baseMs: 1, maxMs: 2, patienceMs: 500 };

/** A configuration with one research model, `deep`, that has these providers as its routes. */
export function config(providers: Record<string, object>, key: object = {}): GatewayConfig {
  const routes = Object.keys(providers).map((provider) => ({ provider, model: `${provider}-model` }));
  return configSchema.parse({
    providers,
    models: { deep: { kind: 'research', routes } },
    keys: [{ id: 'k', secret: 'client-secret', ...key }],
  });
}

/** The model `deep` of a configuration, as a run of its first key sees it. */
export function chat(
  parsed: GatewayConfig,
  options: Partial<UpstreamOptions> = {},
): { upstream: Upstream; model: ChatModel } {
  const upstream = createUpstream(parsed.providers, { log: silentLogger, backoff: FAST, ...options });
  const { deep } = parsed.models;
  assert.ok(deep);
  return { upstream, model: upstream.chatModel({ modelName: 'deep', model: deep, key: parsed.keys[0], runId: 'r' }) };
}

/** Runs one turn and returns its parts. */
export function ask(model: ChatModel, request: TurnRequest = QUESTION): Promise<TurnPart[]> {
  return Array.fromAsync(model.turn(request, { signal: new AbortController().signal }));
}

export function textOf(parts: readonly TurnPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.delta : '')).join('');
}

export function finishOf(parts: readonly TurnPart[]): Extract<TurnPart, { type: 'finish' }> {
  const last = parts.at(-1);
  assert.ok(last?.type === 'finish', 'the last part is a finish');
  return last;
}
