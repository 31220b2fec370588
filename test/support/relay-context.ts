import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { systemClock } from '../../src/base/clock.ts';
import { FairSemaphore } from '../../src/base/fair-semaphore.ts';
import { configSchema } from '../../src/config/schema.ts';
import { chatKind } from '../../src/gateway/answer-kind.ts';
import type { RelayContext } from '../../src/gateway/attempt-context.ts';
import { CallAccount } from '../../src/gateway/call-account.ts';
import { Provider } from '../../src/upstream/routing/provider.ts';
import { routeTo } from '../../src/upstream/routing/routes.ts';

/** The context of an attempt at a provider that is never called, for a streamed chat. */
export function relayContext(
  res: ServerResponse,
  { credential, several = false }: { credential?: string; several?: boolean } = {},
): RelayContext {
  const { providers } = configSchema.parse({
    providers: { one: { base_url: 'http://127.0.0.1:9/v1', api_key: credential } },
    models: { fast: { kind: 'proxy', routes: [{ provider: 'one', model: 'm' }] } },
    keys: [{ id: 'k', secret: 's' }],
  });
  const { one } = providers;
  assert.ok(one && 'base_url' in one);
  const provider = new Provider('one', one, { clock: systemClock });
  const memory = new FairSemaphore({ name: 'test', permits: 0, fullError: () => new Error('full') });
  return {
    route: routeTo(provider, { model: 'm', credential }),
    target: provider.target(credential),
    meter: new CallAccount().attempt({}, { api: 'chat_completions', body: null }),
    memory: memory.open(''),
    kind: chatKind('fast', () => (several ? 2 : 1)),
    modelName: 'fast',
    api: 'chat_completions',
    client: { res, stream: true, holdMs: 60_000 },
    onBegin() {},
  };
}
