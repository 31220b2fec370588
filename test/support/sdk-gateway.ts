import OpenAI from 'openai';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from './idle-load.ts';
import {
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
} from './scripted-provider.ts';

/** The routes of a model at the provider of an `SdkGateway`. */
export const ROUTES = [{ provider: 'scripted', model: 'm' }];
/** Over chat completions alone, so that responses are made by the gateway. */
export const PLAIN = { kind: 'proxy', apis: ['responses'], routes: ROUTES };

export const keyOf = (user: 'ann' | 'bob') => `sk-${user}-0123456789abcdef`;

/** A gateway in memory with a scripted provider, and the official client of each of its two users. */
export interface SdkGateway extends AsyncDisposable {
  url: string;
  provider: ScriptedProvider;
  ann: OpenAI;
  bob: OpenAI;
}

export interface SdkGatewayOptions {
  respond: (request: ProviderRequest, n: number) => Script | Promise<Script>;
  models: Readonly<Record<string, object>>;
  /** Fields of the provider. */
  provider?: object;
  /** Further providers at the same address. */
  providers?: Readonly<Record<string, object>>;
  tools?: object;
  runs?: object;
  /** Fields of their keys. */
  ann?: object;
  bob?: object;
  /** Servers that are closed with the gateway. */
  owned?: readonly AsyncDisposable[];
}

export async function startSdkGateway(options: SdkGatewayOptions): Promise<SdkGateway> {
  await using opening = new AsyncDisposableStack();
  for (const server of options.owned ?? []) opening.use(server);
  const provider = opening.use(await startScriptedProvider({ respond: options.respond }));
  const others = Object.entries(options.providers ?? {});
  const config = configSchema.parse({
    server: { port: 0 },
    store: { url: 'memory:' },
    providers: {
      scripted: { base_url: provider.url, max_retries: 0, ...options.provider },
      ...Object.fromEntries(others.map(([name, fields]) => [name, { base_url: provider.url, ...fields }])),
    },
    models: options.models,
    tools: options.tools ?? {},
    runs: options.runs ?? {},
    keys: [
      { id: 'ann', user: 'ann', secret: keyOf('ann'), ...options.ann },
      { id: 'bob', user: 'bob', secret: keyOf('bob'), ...options.bob },
    ],
  });
  const gateway = opening.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
  const client = (user: 'ann' | 'bob') =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: keyOf(user), maxRetries: 0 });
  const stack = opening.move();
  return {
    url: gateway.url,
    provider,
    ann: client('ann'),
    bob: client('bob'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
