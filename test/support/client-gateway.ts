import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { answerOf } from './client-provider.ts';
import { IDLE_LOAD } from './idle-load.ts';
import { type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts';

/** Models of the gateway for tests of clients. */
export const MODEL = {
  /** Researches a small corpus with the demo provider and answers with citations. */
  research: 'service-model-1-7-deepresearch',
  /** Thinks until it is cancelled. */
  slow: 'research-slow',
  /** Asks for the weather with a function of its client, and writes what it was told. */
  desk: 'research-desk',
  /** Fails in its first turn: its provider refuses. */
  broken: 'research-broken',
  /** Fails in the middle of its answer. */
  cut: 'research-cut',
  /** Offers the async interface alone. */
  asyncOnly: 'research-async-only',
  /** Passed on to a provider. */
  proxy: 'gpt-proxy',
  /** Its responses are made by the gateway, over a provider of chat completions that has a command run. */
  coder: 'gpt-coder',
  /** The same, with a function of its client: asks for the weather, and writes what it was told. */
  caller: 'gpt-caller',
  /** Passed on to a provider that refuses with 503. */
  proxyDown: 'gpt-proxy-down',
  /** Passed on to a provider that breaks its stream. */
  proxyCut: 'gpt-proxy-cut',
  /** Passed on to a provider that never answers. */
  proxySlow: 'gpt-proxy-slow',
  /** The same, with a short time limit. */
  proxySilent: 'gpt-proxy-silent',
} as const;

/** A question that the corpus answers. */
export const QUESTION = 'How does the lighthouse of Elmsworth get its power?';

/** API keys of the gateway, named by what is special about them. */
export const KEY = {
  main: 'sk-clients-main',
  /** May attach MCP servers. */
  mcp: 'sk-clients-mcp',
  /** Its responses have the profile of OpenAI. */
  openai: 'sk-clients-openai',
} as const;

/** Limited keys for each client, because limits are counted by key. */
export const limitedKey = (client: string) => `sk-clients-limited-${client}`;
export const narrowKey = (client: string) => `sk-clients-narrow-${client}`;
export const spentKey = (client: string) => `sk-clients-spent-${client}`;

/** A gateway for tests of clients, which runs from `before` to `after` of a suite. */
export interface ClientGateway {
  /** The base URL that clients are given, with `/v1`. */
  readonly baseURL: string;
  readonly provider: ScriptedProvider;
}

const CORPUS = {
  'power.md':
    '# Power of the lighthouse\n\nThe lighthouse of Elmsworth gets its power from a tidal turbine under the pier. ' +
    'The turbine of the lighthouse was built in 1987 and gives 40 kilowatts of power.\n',
  'lamp.md':
    '# The lamp\n\nThe lamp of the lighthouse of Elmsworth burns 2 kilowatts. Its power comes through a cable from ' +
    'the turbine. At low tide a battery gives the lighthouse power for nine hours.\n',
  'history.md':
    '# History\n\nElmsworth had no lighthouse before 1871. Until 1987 the power of the lighthouse came from an oil ' +
    'engine, which is shown in a museum now. 東京の灯台 is its sister 🗼.\n',
};

/** Registers hooks that start and stop a gateway with the models and keys above; `clients` get limited keys. */
export function clientGateway(clients: readonly string[] = []): ClientGateway {
  let started: (ClientGateway & AsyncDisposable) | undefined;
  const running = () => {
    if (!started) throw new Error('the gateway runs between before and after');
    return started;
  };
  before(async () => {
    started = await startClientGateway(clients);
  });
  after(() => started?.[Symbol.asyncDispose]());
  return {
    get baseURL() {
      return running().baseURL;
    },
    get provider() {
      return running().provider;
    },
  };
}

/** Starts the same gateway outside a suite. */
export async function startClientGateway(clients: readonly string[] = []): Promise<ClientGateway & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScriptedProvider({ respond: answerOf }));
  const folder = await mkdtemp(join(tmpdir(), 'clients-'));
  stack.defer(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(CORPUS)) await writeFile(join(folder, name), text);
  const gateway = stack.use(
    await startGateway({
      config: configuration({ provider: provider.url, folder, clients }),
      log: silentLogger,
      load: IDLE_LOAD,
    }),
  );
  const owned = stack.move();
  return { baseURL: `${gateway.url}/v1`, provider, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function configuration(of: { provider: string; folder: string; clients: readonly string[] }) {
  const scripted = (model: string) => [{ provider: 'scripted', model }];
  const research = { kind: 'research', research: { effort: 'low', tools: ['web_search', 'fetch_url_content'] } };
  return configSchema.parse({
    server: { port: 0, body_limit: '64kb', heartbeat_seconds: 1, shutdown_grace_seconds: 1 },
    store: { url: 'memory:' },
    providers: {
      demo: { builtin: 'demo' },
      scripted: { base_url: of.provider, api_key: 'sk-provider', max_retries: 0 },
      impatient: { base_url: of.provider, max_retries: 0, timeouts: { first_byte: 0.2 } },
    },
    models: {
      [MODEL.research]: { ...research, routes: [{ provider: 'demo', model: 'demo' }] },
      [MODEL.slow]: { ...research, routes: scripted('slow') },
      [MODEL.desk]: { ...research, routes: scripted('desk') },
      [MODEL.broken]: { ...research, routes: scripted('broken') },
      [MODEL.cut]: { ...research, routes: scripted('cut') },
      [MODEL.asyncOnly]: { ...research, apis: ['async'], routes: scripted('slow') },
      [MODEL.proxy]: {
        kind: 'proxy',
        apis: ['chat_completions', 'async', 'responses', 'embeddings', 'audio/transcriptions'],
        responses: 'native',
        routes: scripted('plain'),
      },
      [MODEL.coder]: { kind: 'proxy', apis: ['responses'], routes: scripted('coder') },
      [MODEL.caller]: { kind: 'proxy', apis: ['responses'], routes: scripted('desk') },
      [MODEL.proxyDown]: { kind: 'proxy', routes: scripted('down') },
      [MODEL.proxyCut]: { kind: 'proxy', routes: scripted('cut') },
      [MODEL.proxySlow]: { kind: 'proxy', routes: scripted('slow') },
      [MODEL.proxySilent]: { kind: 'proxy', routes: [{ provider: 'impatient', model: 'slow' }] },
    },
    keys: [
      { id: 'main', secret: KEY.main },
      { id: 'mcp', secret: KEY.mcp, mcp_servers: true },
      { id: 'openai', secret: KEY.openai, profile: 'openai' },
      ...of.clients.flatMap((client) => [
        { id: `limited-${client}`, secret: limitedKey(client), limits: { requests_per_minute: 1 } },
        { id: `narrow-${client}`, secret: narrowKey(client), limits: { concurrent_runs: 1 } },
        { id: `spent-${client}`, secret: spentKey(client), limits: { tokens_per_day: 1 } },
      ]),
    ],
    tools: { web_search: { provider: 'local', folder: of.folder } },
  });
}
