import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { Audit } from '../../src/audit/audit.ts';
import { systemClock } from '../../src/base/clock.ts';
import { GatewayError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/logger.ts';
import { CredentialCipher } from '../../src/base/secrets/encrypt.ts';
import { Sealer } from '../../src/base/secrets/sealed.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { configSchema, type GatewayConfig } from '../../src/config/schema.ts';
import { Files } from '../../src/files/files.ts';
import { AnswerCache } from '../../src/gateway/answer-cache.ts';
import type { ProxyCall } from '../../src/gateway/model-proxy.ts';
import { createApps } from '../../src/http/app.ts';
import type { HttpParts, Readiness } from '../../src/http/app-deps.ts';
import { Admission } from '../../src/http/limits/admission.ts';
import { LostHolds } from '../../src/http/limits/lost-holds.ts';
import { createHttpServer, type ServerTimes } from '../../src/http/server.ts';
import type { SocketTimes } from '../../src/http/socket/times.ts';
import { StoredKeys } from '../../src/keys/stored-keys.ts';
import { SealedContents } from '../../src/plain/sealed-contents.ts';
import { SchemaChecks } from '../../src/research/answer/schema/schema-checks.ts';
import type { ResearchState } from '../../src/research/run/state.ts';
import type { Step } from '../../src/research/run/steps.ts';
import { Compactor } from '../../src/runs/compaction.ts';
import { Conversations } from '../../src/runs/conversations.ts';
import type { RunDriver } from '../../src/runs/executing/driving/run-driver.ts';
import { LocalExecutor } from '../../src/runs/executing/local-executor.ts';
import { Runs } from '../../src/runs/runs.ts';
import { CarriedTranscripts } from '../../src/runs/stored/carried-transcripts.ts';
import { readHeld, readResearchRequest } from '../../src/runs/stored/stored-request.ts';
import { memoryCaches } from '../../src/store/cache.ts';
import type { LimitStore } from '../../src/store/limit-store.ts';
import { memoryLimits } from '../../src/store/memory-limits.ts';
import { openStorage, type Storage } from '../../src/store/open.ts';
import { SealedRunStore } from '../../src/store/sealed-runs.ts';
import type { ChatModel } from '../../src/upstream/turn.ts';
import { UsageLog } from '../../src/usage/usage.ts';
import { openVectorStores } from '../../src/vector-stores/open.ts';
import { Webhooks } from '../../src/webhooks/webhooks.ts';
import { eventually } from './eventually.ts';
import { ScriptedModel } from './scripted-model.ts';

/** API keys of the test gateway. `ann-2` is a second key of the same user. */
export const KEYS = {
  ann: 'sk-ann-secret',
  ann2: 'sk-ann-second',
  bob: 'sk-bob-secret',
  limited: 'sk-limited-secret',
} as const;

export type ConfigOverrides = {
  server?: object;
  store?: object;
  runs?: object;
  files?: object;
  limits?: object;
  models?: object;
  keys?: object[];
};

/** Two research models, two proxy models, four keys. `limits` are those of the key `limited`. */
export function httpConfig(overrides: ConfigOverrides = {}): GatewayConfig {
  const routes = [{ provider: 'demo', model: 'demo' }];
  return configSchema.parse({
    server: { port: 0, ...overrides.server },
    store: overrides.store ?? { url: 'memory:' },
    runs: overrides.runs ?? {},
    files: overrides.files ?? {},
    providers: { demo: { builtin: 'demo' } },
    models: {
      deep: { kind: 'research', routes, max_completion_tokens: 1000, context_length: 10_000 },
      'deep-eyes': { kind: 'research', routes, vision: true },
      'deep-async': { kind: 'research', routes, apis: ['async'] },
      gpt: {
        kind: 'proxy',
        responses: 'native',
        routes,
        apis: ['chat_completions', 'async', 'responses', 'embeddings', 'audio'],
      },
      'gpt-chat': { kind: 'proxy', routes, apis: ['chat_completions'] },
      'org/model-1': { kind: 'proxy', routes },
      ...overrides.models,
    },
    keys: [
      { id: 'ann', secret: KEYS.ann, mcp_servers: true },
      { id: 'ann-2', user: 'ann', secret: KEYS.ann2, models: ['deep'] },
      { id: 'bob', secret: KEYS.bob },
      { id: 'limited', secret: KEYS.limited, limits: overrides.limits ?? {} },
      ...(overrides.keys ?? []),
    ],
  });
}

export interface TestGateway extends AsyncDisposable {
  url: string;
  server: Server;
  parts: HttpParts;
  /** How busy the process says it is. */
  load: { utilization: number; lagMs: number };
  runs: Runs;
  storage: Storage;
  /** Those that the gateway counts: of its store, or by `limitsNow`. */
  limits: LimitStore;
  /** Keys of the store; those that others change are looked at once `start` was called. */
  keys: StoredKeys;
  /** Lines of the access log and everything else that was logged, parsed. */
  lines: Record<string, unknown>[];
  /** Calls that reached the proxy. */
  calls: ProxyCall[];
  /** Lets the run that was asked to `wait` go on, once it waits. */
  release(): Promise<void>;
  /** Replaces the configuration, as a reload does. */
  configure(config: GatewayConfig): void;
  readiness(state: Readiness): void;
  /** Begins to stop: new work is refused, streams end. */
  stop(): void;
}

export interface TestGatewayOptions extends ConfigOverrides {
  proxy?(call: ProxyCall): Promise<unknown>;
  /** Replaces methods of the runs that endpoints see. */
  wrapRuns?(runs: Runs): Runs;
  /** Times of WebSockets. */
  socketTimes?: Partial<SocketTimes>;
  /** Times of the server. */
  times?: Partial<ServerTimes>;
  /** The model that compacts. */
  chat?: ChatModel;
  /** The clock of the limits, in milliseconds. */
  limitsNow?(): number;
}

/** The HTTP floor on a real server, over real runs and a real store; only the research is scripted. */
export async function openGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const live = new LiveConfig(httpConfig(options));
  let ready: Readiness = { ready: true, reasons: [] };
  const waiting: (() => void)[] = [];
  const lines: Record<string, unknown>[] = [];
  const calls: ProxyCall[] = [];
  const closing = new AbortController();
  const stopped = new AbortController();
  const log = createLogger({ destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const opened = await openStorage(live.current().store, { log });
  const storage = { ...opened, runs: new SealedRunStore(opened.runs, (keyId) => live.cipherOf(keyId)) };
  const { limitsNow } = options;
  const limits = limitsNow ? memoryLimits(limitsNow) : storage.limits;
  const lostHolds = new LostHolds({
    limits,
    runs: storage.runs,
    clock: limitsNow ? { now: limitsNow } : systemClock,
  });
  const admission = new Admission(limits, () => live.current().teams, lostHolds);
  const driver: RunDriver = {
    research: ({ run, state, signal }) => script(lastQuestion(run), state, () => released(waiting, signal)),
    plain: ({ state, signal }) => script('', state, () => released(waiting, signal)),
    proxy: async ({ request }) => `{"echo":${request.body}}`,
    beforeResume: (run) => admission.renewRun({ ...run, held: readHeld(run), runMs: live.current().runs.maxRunMs }),
    afterExecution({ run, ended }) {
      if (ended) void admission.settleRun({ id: run.id, keyId: run.keyId, held: readHeld(run), ...ended });
    },
  };
  const load = { utilization: 0, lagMs: 0 };
  const kept = { store: storage.runs, clock: systemClock, retentionMs: 3_600_000 };
  const carried = new CarriedTranscripts({ ...kept, conversations: storage.conversations, runMs: 0 });
  const common = { ...kept, carried, log };
  const { entries } = storage;
  const maxConcurrent = live.current().runs.max_concurrent;
  const executor = new LocalExecutor({ ...common, driver, maxConcurrent, load });
  const conversations = new Conversations({ ...common, conversations: storage.conversations, entries });
  const runs = new Runs({
    ...common,
    entries,
    executor,
    conversations,
    maxQueued: () => live.current().runs.max_queued,
    cipherOf: () => new CredentialCipher('ab'.repeat(32), []),
    deliveries: storage.deliveries,
    closing: closing.signal,
    stopped: stopped.signal,
  });
  const schemas = new SchemaChecks();
  const { encryption_keys: ownKeys } = live.current().store;
  const sealer = new Sealer({ keys: ownKeys, share: () => storage.secret() });
  const registry = new Registry();
  const webhooks = new Webhooks({ storage, config: live, registry, clock: systemClock, log });
  webhooks.start();
  const files = new Files({
    store: storage.files,
    entries: storage.entries,
    config: live.current(),
    cipherOf: (key) => live.cipherOf(key),
    clock: systemClock,
    log,
  });
  const vectors = openVectorStores({
    storage,
    files,
    config: live.current(),
    embeddings: () => undefined,
    clock: systemClock,
    log,
  });
  const usage = new UsageLog({ store: storage.usage, registry, clock: systemClock, log });
  const replace = async (next: GatewayConfig) => live.replace(next);
  const sealing = ownKeys.length > 0 && { sealer };
  const keys = new StoredKeys({ store: storage.entries, live, ...sealing, replace, clock: systemClock, log });
  const parts: HttpParts = {
    config: live,
    keys,
    audit: new Audit({ store: storage.entries, instance: 'test', clock: systemClock, log }),
    usage,
    webhooks,
    files,
    ...vectors,
    documents: { read: () => Promise.reject(new Error('nothing is read here')) },
    runs: options.wrapRuns?.(runs) ?? runs,
    conversations,
    sealed: new SealedContents(sealer),
    compactor: new Compactor({
      sealed: new SealedContents(sealer),
      chatModel: () => options.chat ?? new ScriptedModel([]),
      currency: () => 'USD',
    }),
    proxy: {
      forward: async (call) => {
        calls.push(call);
        await (options.proxy ?? echo)(call);
        return true;
      },
    },
    answerCache: new AnswerCache(memoryCaches({ log })),
    passthrough: {
      pass: () => Promise.reject(new Error('nothing is passed here')),
      connect: async (_, socket) => void socket.destroy(),
    },
    schemas,
    load,
    admission,
    log,
    clock: systemClock,
    registry,
    readiness: async () => ready,
    stopping: closing.signal,
    ...(options.socketTimes && { socketTimes: options.socketTimes }),
  };
  await executor.start();
  vectors.documentReader.start();
  const apps = createApps(parts);
  const server = createHttpServer(apps.create({ operator: true }), { ...options.times, upgrade: apps.upgrade });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    parts,
    storage,
    limits,
    keys,
    load,
    runs,
    lines,
    calls,
    async release() {
      (await until(() => waiting.shift()))();
    },
    configure(next) {
      live.replace(next);
    },
    readiness(state) {
      ready = state;
    },
    stop: () => closing.abort(),
    async [Symbol.asyncDispose]() {
      closing.abort();
      stopped.abort();
      server.closeAllConnections();
      await Promise.all([keys, usage, vectors].map((part) => part[Symbol.asyncDispose]()));
      await executor.stop({ graceMs: 100 });
      await webhooks[Symbol.asyncDispose]();
      files[Symbol.dispose]();
      await storage.close();
      schemas[Symbol.dispose]();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const echo = async ({ res, request: { body } }: ProxyCall) => {
  res.writeHead(200, { 'content-type': 'application/json' }).end(body);
};

function lastQuestion(run: Parameters<RunDriver['research']>[0]['run']): string {
  const part = readResearchRequest(run)?.conversation.findLast(({ role }) => role === 'user')?.content[0];
  return part?.type === 'text' ? part.text : '';
}

/**
 * What a run does, by its question: `wait` waits to be released, `fail` and `fail late` fail, `long <n>` answers with
 * n deltas, `wide <n>` with n deltas of a hundred words, anything else is echoed.
 */
async function* script(
  question: string,
  state: ResearchState,
  released: () => Promise<void>,
): ReturnType<RunDriver['research']> {
  const spent = { inputTokens: 60, cachedTokens: 0, outputTokens: 40, reasoningTokens: 0, estimated: false };
  const failure = new GatewayError('upstream_error', 'The provider answered 500.');
  if (question === 'fail') throw failure;
  yield { type: 'reasoning', delta: 'Let me think.' };
  if (question === 'fail late') {
    yield { type: 'answer', delta: 'It' };
    throw failure;
  }
  if (question === 'wait') await released();
  const entry = { t: 'spent', usage: spent } as const;
  state.apply(entry);
  yield { type: 'reasoning_end', status: 'completed', entry };
  const [, width, count] = /^(long|wide) (\d+)$/.exec(question) ?? [];
  for (const delta of answerOf(question, count, width === 'wide' ? 100 : 1)) yield delta;
  return { incomplete: null };
}

function* answerOf(question: string, count: string | undefined, words: number): Generator<Step> {
  if (count === undefined) yield { type: 'answer', delta: `You said: ${question}` };
  for (let n = 0; n < Number(count ?? 0); n++) yield { type: 'answer', delta: `word${n} `.repeat(words) };
}

function released(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    signal.addEventListener('abort', () => {
      waiting.splice(waiting.indexOf(resolve), 1);
      reject(signal.reason);
    });
  });
}

/** Polls until `condition` gives something. */
export const until = <T>(condition: () => Promise<T | undefined> | T | undefined): Promise<T> =>
  eventually('a condition', condition);
