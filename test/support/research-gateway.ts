import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type ResponseObject, responseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { send } from './http-client.ts';
import { KEYS } from './http-gateway.ts';
import { IDLE_LOAD } from './idle-load.ts';
import {
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  type TurnScript,
  turn,
} from './scripted-provider.ts';
import { type SeenRequest, seenRequest } from './seen-request.ts';

export interface ResearchGatewayOptions {
  /** What the provider's model says; it knows only what it is sent. */
  model?: (request: SeenRequest, n: number) => TurnScript | Script;
  /** A provider to use instead; it stays its owner's. */
  provider?: ScriptedProvider;
  /** Documents of the local corpus, by file name. */
  documents?: Readonly<Record<string, string>>;
  /** `research` of the model `deep`, and its other keys. */
  research?: object;
  deep?: object;
  /** Further models, and their providers. */
  models?: object;
  providers?: object;
  /** Of the key `ann`. */
  limits?: object;
  store?: object;
  mcp?: object;
  files?: object;
  telemetry?: object;
  /** Further keys. */
  keys?: object[];
}

/** A whole gateway over HTTP with one research model, `deep`, and a provider and documents of the test's choice. */
export interface ResearchGateway extends AsyncDisposable {
  url: string;
  provider: ScriptedProvider;
  /** What the model was sent, in order. */
  seen: SeenRequest[];
  /** A response that was waited for. Its status is asserted to be 200. */
  respond(body: object): Promise<ResponseObject>;
}

/** Starts a gateway. Use with `await using`. */
export async function openResearchGateway(options: ResearchGatewayOptions): Promise<ResearchGateway> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'research-gateway-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(options.documents ?? {})) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const seen: SeenRequest[] = [];
  const provider = options.provider ?? stack.use(await startModel(options.model ?? (() => ({ text: 'Ready.' })), seen));
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 1 },
    store: { url: 'memory:', ...options.store },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider', max_retries: 0 }, ...options.providers },
    models: {
      deep: {
        kind: 'research',
        routes: [{ provider: 'scripted', model: 'scripted' }],
        research: options.research ?? {},
        ...options.deep,
      },
      ...options.models,
    },
    keys: [
      { id: 'ann', secret: KEYS.ann, limits: options.limits ?? {} },
      { id: 'bob', secret: KEYS.bob },
      ...(options.keys ?? []),
    ],
    tools: { web_search: { provider: 'local', folder } },
    ...(options.mcp && { mcp: options.mcp }),
    ...(options.files && { files: options.files }),
    ...(options.telemetry && { telemetry: options.telemetry }),
  });
  const gateway = stack.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
  const owned = stack.move();
  return {
    url: gateway.url,
    provider,
    seen,
    async respond(body) {
      const received = await send(gateway, 'POST /v1/responses', { body: { model: 'deep', stream: false, ...body } });
      assert.equal(received.status, 200, received.text);
      return responseObject.parse(received.json);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startModel(model: NonNullable<ResearchGatewayOptions['model']>, seen: SeenRequest[]) {
  return await startScriptedProvider({
    respond: ({ body }, n) => {
      const request = seenRequest(body);
      seen.push(request);
      const said = model(request, n);
      return 'steps' in said ? said : turn(said);
    },
  });
}

/** A call of `fetch_url_content` for a document of the corpus. */
export function fetchDocument(name: string) {
  return { name: 'fetch_url_content', arguments: { url: `corpus:///${name}` } };
}
