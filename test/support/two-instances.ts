import { randomUUID } from 'node:crypto';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from './gateway-process.ts';
import { type ProviderRequest, type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts';

export const KEY = 'sk-instances';
export const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
export const HEADERS = headersOf(KEY);

/** Gateways in separate processes over one store, with a provider that sees which of them calls it. */
export interface Instances extends AsyncDisposable {
  readonly provider: ScriptedProvider;
  /** The running gateways, by name. */
  readonly gateways: ReadonlyMap<string, GatewayProcess>;
  /** The gateway that sent a request to the provider. */
  senderOf(request: ProviderRequest): { name: string; gateway: GatewayProcess };
  /** A gateway with another name. */
  other(name: string): GatewayProcess;
  /** Restarts the gateways that have ended. */
  restart(): Promise<void>;
}

export async function startInstances(options: {
  storeUrl: string;
  names: readonly string[];
  /** Offsets of the clocks, by name, in milliseconds; others are right. */
  clockOffsetsMs?: Readonly<Record<string, number>>;
  /** Configuration that replaces the defaults. */
  config?: object;
}): Promise<Instances> {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(await startScriptedProvider());
  const folder = opening.use(await gatewayFolder());
  const gateways = new Map<string, GatewayProcess>();
  opening.defer(async () => {
    await Promise.all([...gateways.values()].map((gateway) => gateway.kill()));
  });
  const start = async (name: string) => {
    const config = {
      server: { port: 0, heartbeat_seconds: 0.2, shutdown_grace_seconds: 0.5 },
      store: { url: options.storeUrl },
      providers: { scripted: { base_url: `${new URL(provider.url).origin}/${name}/v1`, api_key: 'sk-provider' } },
      models: {
        researcher: { kind: 'research', routes: [{ provider: 'scripted', model: 'm' }], research: { tools: [] } },
      },
      keys: [{ id: 'ann', secret: KEY }],
      ...options.config,
    };
    gateways.set(
      name,
      await startGatewayProcess(config, { folder: folder.path, clockOffsetMs: options.clockOffsetsMs?.[name] ?? 0 }),
    );
  };
  await Promise.all(options.names.map(start));
  const stack = opening.move();
  const find = (test: (name: string) => boolean) => {
    const name = [...gateways.keys()].find(test);
    const gateway = name === undefined ? undefined : gateways.get(name);
    if (name === undefined || !gateway) throw new Error('there is no such instance');
    return { name, gateway };
  };
  return {
    provider,
    gateways,
    senderOf: (request) => find((name) => request.path.startsWith(`/${name}/`)),
    other: (name) => find((another) => another !== name).gateway,
    async restart() {
      const ended = [...gateways].filter(([, { child }]) => child.exitCode !== null || child.signalCode !== null);
      await Promise.all(ended.map(([name]) => start(name)));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The URL of a Redis database that no other test uses. */
export function freshDatabase(url: string, number: number): string {
  return `${url.replace(/\/\d+$/, '')}/${number}`;
}

/** Submits a run in the background and returns its id. */
export async function submit(
  gateway: GatewayProcess,
  { input = `Question ${randomUUID()}?`, key = KEY }: { input?: string; key?: string } = {},
): Promise<string> {
  const body = JSON.stringify({ model: 'researcher', input, background: true });
  const response = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers: headersOf(key), body });
  const { id } = (await response.json()) as { id: string };
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return id;
}
