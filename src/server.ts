import { randomUUID } from 'node:crypto';
import { accounting } from './accounting.ts';
import { TimeoutError, withTimeout } from './base/abort.ts';
import { GatewayError, shuttingDown } from './base/errors.ts';
import { EventLoopMonitor } from './base/load/event-loop-monitor.ts';
import type { Logger } from './base/logger.ts';
import { once } from './base/once.ts';
import { Sealer } from './base/secrets/sealed.ts';
import type { RunningGateway } from './cli/running-gateway.ts';
import { acceptedDefaultKey } from './config/keyring.ts';
import type { LiveConfig } from './config/live-config.ts';
import type { GatewayConfig } from './config/schema.ts';
import { consolePages } from './console/console-pages.ts';
import {
  type Documents,
  type Foundation,
  type GatewayOptions,
  openAudit,
  openDocuments,
  openFoundation,
  openInstances,
  openKeys,
  openUpstream,
} from './foundation.ts';
import { AnswerCache } from './gateway/answer-cache.ts';
import { CallAccount } from './gateway/call-account.ts';
import { ModelProxy } from './gateway/model-proxy.ts';
import { createPassthrough } from './gateway/passthrough/passthrough.ts';
import { type Apps, createApps } from './http/app.ts';
import { type ListeningServers, listen } from './http/listening.ts';
import { countLoopStalls, countRefusals } from './http/metrics.ts';
import { readiness } from './http/operator/health.ts';
import { SealedContents } from './plain/sealed-contents.ts';
import { SchemaChecks } from './research/answer/schema/schema-checks.ts';
import { loadPrompts } from './research/prompts/load-prompts.ts';
import { Compactor } from './runs/compaction.ts';
import { Conversations } from './runs/conversations.ts';
import { createDriver } from './runs/executing/driving/driver.ts';
import type { DriverParts } from './runs/executing/driving/driver-parts.ts';
import type { RunDriver } from './runs/executing/driving/run-driver.ts';
import type { Executor } from './runs/executing/executor.ts';
import { openExecutor } from './runs/executing/open-executor.ts';
import { sweepExpired } from './runs/expiry.ts';
import { MAX_LAG_MS } from './runs/load-meter.ts';
import { prepareRuns } from './runs/prepare-runs.ts';
import { Runs } from './runs/runs.ts';
import { CarriedTranscripts } from './runs/stored/carried-transcripts.ts';
import { startTelemetry } from './telemetry/start-telemetry.ts';
import { RefreshedSecrets } from './upstream/credentials/refreshed-secrets.ts';
import type { Upstream } from './upstream/upstream.ts';
import { UsageLog } from './usage/usage.ts';
import { fileSearchOf } from './vector-stores/open.ts';
import { Webhooks } from './webhooks/webhooks.ts';

/** The share of the grace time for handing over runs; the rest is for the answers that end with them. */
const RUNS_GRACE_SHARE = 0.9;
/** The share of the rest in which answers may end by themselves, before they end with an error. */
const DRAIN_SHARE = 0.9;
/** How long closing may take beyond the grace time, in milliseconds. */
const CLOSE_MARGIN_MS = 1000;

/** A gateway that runs in this process. */
export interface Gateway extends RunningGateway {
  reload(config: GatewayConfig, whatChanged?: string): Promise<void>;
}

/**
 * The composition root: configuration -> parts -> listen -> graceful stop. What is opened first is closed last.
 * @throws Error with the fix if a part cannot start, or the system's own if it cannot listen on an address.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log } = options;
  await using stack = new AsyncDisposableStack();
  stack.use(await startTelemetry(config, log));
  const foundation = await openFoundation(options, { stack, executor: () => executor });
  const { live, storage, load, registry, admission, activity } = foundation;
  const secrets = stack.use(new RefreshedSecrets({ log, hide: options.hide }));
  const upstream = stack.use(await openUpstream(foundation, { stack, secrets }));
  const documents = openDocuments(foundation, { stack, upstream });
  const proxy = new ModelProxy({ upstream });
  const passthrough = stack.use(createPassthrough({ upstream }));
  const schemas = stack.use(new SchemaChecks());
  const { clock } = storage;
  const webhooks = stack.use(new Webhooks({ storage, config: live, registry, clock, log }));
  const usage = stack.use(new UsageLog({ store: storage.usage, registry, clock, log }));
  const sealer = new Sealer({ keys: config.store.encryption_keys, share: () => storage.secret() });
  const sealed = new SealedContents(sealer);
  const id = randomUUID();
  const closing = new AbortController();
  const stopped = new AbortController();
  const { executor, runs, conversations } = await openRuns(foundation, {
    sealed,
    ...{ stack, upstream, documents, proxy, schemas, usage, webhooks },
    closing: closing.signal,
    stopped: stopped.signal,
  });
  const instances = stack.use(openInstances(foundation, { id, executor }));
  const keys = stack.use(openKeys(foundation, { secrets, sealer }));
  const audit = openAudit(foundation, { stack, instance: id });
  const apps = createApps({
    compactor: new Compactor({
      sealed,
      chatModel: (query) => upstream.chatModel(query),
      currency: () => live.current().server.currency,
    }),
    sealed,
    config: live,
    load,
    admission,
    usage,
    keys,
    audit,
    log,
    registry,
    runs,
    conversations,
    webhooks,
    files: documents.files,
    ...documents.vectorStores,
    documents: documents.toolbox,
    proxy,
    answerCache: new AnswerCache(storage.caches),
    passthrough,
    schemas,
    clock,
    showMetrics: () => options.showMetrics?.() ?? registry.metrics(),
    readiness: () => readiness({ store: storage.runs, upstream, secrets, overloaded: executor.overloaded || isLate() }),
    stopping: closing.signal,
    console: consolePages({ wellKnownKey: () => acceptedDefaultKey(live.current()) }),
    operator: { instance: id, instances, providers: () => upstream.states(), activity },
  });
  const isLate = () =>
    load.lagMs >= MAX_LAG_MS && (executor.active > 0 || Object.keys(apps.openAnswersByRoute()).length > 0);
  const currentWork = () => ({ routes: apps.openAnswersByRoute(), runs: executor.active });
  stack.use(new EventLoopMonitor({ log, onStall: countLoopStalls(registry), currentWork }));
  stack.use(countRefusals(registry));
  await keys.start();
  webhooks.start();
  await executor.start();
  documents.vectorStores.documentReader.start();
  if (storage.upkeep === 'here') stack.use(sweepExpired({ store: storage.runs, log }));
  const listening = stack.use(await openListeners(apps, config));
  stack.use(prepareRuns(config, { ...documents, log }));
  const owned = stack.move();
  const close = once(() => closeInOrder({ config, closing, stopped, executor, apps, listening, owned, log }));
  const reload = async (next: GatewayConfig, whatChanged?: string) => {
    // Commands that give secrets may take a while: run them first, so that changes of keys need not wait.
    await secrets.prepare(next.providers);
    await keys.reload(next);
    await audit.record({ action: 'config.reloaded', detail: whatChanged });
  };
  return { url: listening.url, close, reload, [Symbol.asyncDispose]: close };
}

/** Opens the executor, which drives runs, and what the API needs of them. */
async function openRuns(
  foundation: Foundation,
  parts: {
    sealed: SealedContents;
    stack: AsyncDisposableStack;
    upstream: Upstream;
    documents: Documents;
    proxy: ModelProxy;
    schemas: SchemaChecks;
    usage: UsageLog;
    webhooks: Webhooks;
    closing: AbortSignal;
    stopped: AbortSignal;
  },
): Promise<{ executor: Executor; runs: Runs; conversations: Conversations }> {
  const { live, storage, log } = foundation;
  const { upstream, sealed, schemas, closing, stopped } = parts;
  const { store, runs: limits } = live.current();
  const cipherOf = (keyId: string) => live.cipherOf(keyId);
  const { onToolCall, ...reports } = accounting({ ...foundation, ...parts });
  const driver = createDriver({
    config: live,
    prompts: loadPrompts(),
    schemas,
    sealed,
    clock: storage.clock,
    log,
    chatModel: (query) => upstream.chatModel(query),
    openTools: toolsOfRuns(parts.documents),
    proxy: proxyTask(live, parts.proxy),
    cipherOf,
    onToolCall,
  });
  const base = { store: storage.runs, clock: storage.clock, retentionMs: store.retentionMs };
  const stores = { conversations: storage.conversations, entries: storage.entries };
  const carried = new CarriedTranscripts({ ...base, ...stores, runMs: limits.maxRunMs });
  const common = { ...base, carried, driver: { ...driver, ...reports }, log };
  const executor = await openExecutor(foundation, common, parts.stack);
  const conversations = new Conversations({ ...common, ...stores });
  const runs = new Runs({
    ...common,
    entries: storage.entries,
    executor,
    conversations,
    maxQueued: () => live.current().runs.max_queued,
    cipherOf,
    deliveries: storage.deliveries,
    keyHasWebhook: (keyId) => live.keyById(keyId)?.webhook !== undefined,
    closing,
    stopped,
  });
  return { executor, runs, conversations };
}

/** Opens the tools of a run with access only to what its user may read. */
function toolsOfRuns({ toolbox, files, vectorStores }: Documents): DriverParts['openTools'] {
  return ({ user, fileSearch, ...request }) => {
    const readFile = (id: string, signal: AbortSignal) => files.readAttached(user, id, signal);
    const runTools = fileSearch && [fileSearchOf(vectorStores, { ...fileSearch, user })];
    return toolbox.open({ ...request, readFile, runTools });
  };
}

function proxyTask(live: LiveConfig, proxy: Pick<ModelProxy, 'complete'>): RunDriver['proxy'] {
  return ({ run, request, setUsageReader, signal }) => {
    const model = live.current().models[run.model];
    if (model?.kind !== 'proxy') {
      throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
    }
    const account = new CallAccount();
    setUsageReader(() => account.used);
    const key = live.keyById(run.keyId);
    return proxy.complete({ modelName: run.model, model, key, body: request.body, account, signal });
  };
}

/** Listens on one port, or on a second one for operators. */
function openListeners(apps: Apps, { server }: GatewayConfig): Promise<ListeningServers> {
  const { host, port, admin_port } = server;
  const { upgrade } = apps;
  const all = apps.create({ operator: true });
  if (admin_port === undefined) return listen(host, [{ app: all, port, upgrade }]);
  return listen(host, [
    { app: apps.create({ operator: false }), port, upgrade },
    { app: all, port: admin_port, upgrade },
  ]);
}

/**
 * Stops gracefully: refuses new work at once with 503, so that clients and load balancers go elsewhere, hands runs over, then
 * ends streams and gives answers under way the rest of the time.
 */
async function closeInOrder(parts: {
  config: GatewayConfig;
  closing: AbortController;
  stopped: AbortController;
  executor: Executor;
  apps: Apps;
  listening: ListeningServers;
  owned: AsyncDisposableStack;
  log: Logger;
}): Promise<void> {
  const { config, closing, stopped, executor, apps, listening, owned, log } = parts;
  const graceMs = config.server.shutdownGraceMs;
  const deadline = performance.now() + graceMs;
  closing.abort(shuttingDown());
  try {
    await withTimeout('Stopping', graceMs + CLOSE_MARGIN_MS, async () => {
      await executor.stop({ graceMs: graceMs * RUNS_GRACE_SHARE });
      stopped.abort(shuttingDown());
      const left = Math.max(0, deadline - performance.now());
      const lastWords = setTimeout(() => apps.endAnswers(shuttingDown()), left * DRAIN_SHARE);
      await listening.drain({ graceMs: left });
      clearTimeout(lastWords);
      await owned.disposeAsync();
    });
  } catch (thrown) {
    if (!(thrown instanceof TimeoutError)) throw thrown;
    // The rest waits for a store that does not answer; the claims on its runs expire.
    log.warn('not everything could be closed in the grace time');
  }
}
