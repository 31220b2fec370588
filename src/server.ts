import { randomUUID } from 'node:crypto';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { accounting } from './accounting.ts';
import { Audit } from './audit/audit.ts';
import { openAuditFile } from './audit/audit-file.ts';
import { TimeoutError, withTimeout } from './base/abort.ts';
import { systemClock } from './base/clock.ts';
import { GatewayError, messageOf, shuttingDown } from './base/errors.ts';
import { LoopWatch } from './base/load/loop-watch.ts';
import type { Logger } from './base/logger.ts';
import { once } from './base/once.ts';
import { Sealer } from './base/secrets/sealed.ts';
import type { RunningGateway, StartOptions } from './cli/running-gateway.ts';
import { acceptedDefaultKey } from './config/keyring.ts';
import { LiveConfig } from './config/live-config.ts';
import type { GatewayConfig } from './config/schema.ts';
import { consolePages } from './console/console-pages.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { Files } from './files/files.ts';
import { CallAccount } from './gateway/call-account.ts';
import { KeptAnswers } from './gateway/kept-answers.ts';
import { createModelProxy } from './gateway/model-proxy.ts';
import type { ModelProxy } from './gateway/proxy-call.ts';
import { createStreamedPassage } from './gateway/unheld/streamed-passage.ts';
import { type Apps, createApps } from './http/app.ts';
import { Admission } from './http/limits/admission.ts';
import { type Listening, listen } from './http/listening.ts';
import { countEmbeddings, countRefusals, countStandstills } from './http/metrics.ts';
import { Activity } from './http/operator/activity.ts';
import { readiness } from './http/operator/health.ts';
import { StoredKeys } from './keys/stored-keys.ts';
import { SealedSummaries } from './plain/compaction.ts';
import { SealedThoughts } from './plain/thoughts.ts';
import { SchemaChecks } from './research/answer/schema/schema-checks.ts';
import { loadPrompts } from './research/prompts/load-prompts.ts';
import { Compactor } from './runs/compaction.ts';
import { Conversations } from './runs/conversations.ts';
import { createDriver } from './runs/executing/driving/research-driver.ts';
import type { RunDriver } from './runs/executing/driving/run-driver.ts';
import type { Executor } from './runs/executing/executor.ts';
import { openExecutor } from './runs/executing/open-executor.ts';
import { sweepExpired } from './runs/expiry.ts';
import { EventLoopLoad, type LoadMeter, MAX_LAG_MS } from './runs/load-meter.ts';
import { RunMetrics } from './runs/metrics.ts';
import { prepareRuns } from './runs/prepare-runs.ts';
import { createRuns } from './runs/service.ts';
import { CarriedTranscripts } from './runs/stored/carried-transcripts.ts';
import { sharedCache } from './store/cache.ts';
import { Instances } from './store/instances.ts';
import { openStorage, type Storage } from './store/open.ts';
import { startTelemetry } from './telemetry/start-telemetry.ts';
import { createLiveToolbox, type LiveToolbox } from './tools/live-toolbox.ts';
import { type EmbeddingsSource, embeddingsOf } from './tools/web-search/configured-embeddings.ts';
import { RefreshedSecrets } from './upstream/credentials/refreshed-secrets.ts';
import type { AttemptReport } from './upstream/routing/attempts.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';
import { UsageLog } from './usage/usage.ts';
import { fileSearchOf, openVectorStores } from './vector-stores/open.ts';
import { Webhooks } from './webhooks/webhooks.ts';

/** The part of the grace time for runs; the rest is for the answers that end with them. */
const HANDING_OVER = 0.9;
/** How long closing may take beyond the grace time, in milliseconds. */
const CLOSING_MS = 1000;
/** A gateway that runs in this process. */
export interface Gateway extends RunningGateway {
  reload(config: GatewayConfig): Promise<void>;
}

export interface GatewayOptions {
  config: GatewayConfig;
  log: Logger;
  /** Opens what a worker has in the place of a store of its own; what `config.store` names where absent. */
  openStorage?(): Promise<Storage>;
  /** Where metrics are kept; a registry of its own where absent. */
  registry?: Registry;
  /** How busy the process is, for one that does other work too; measured where absent. */
  load?: LoadMeter;
  /** See `StartOptions`. */
  hide?: StartOptions['hide'];
  /** What /metrics shows; what the registry holds where absent. */
  showMetrics?(): Promise<string>;
}

/** What the parts are made with. */
interface Foundation {
  live: LiveConfig;
  storage: Storage;
  load: LoadMeter;
  registry: Registry;
  metrics: RunMetrics;
  admission: Admission;
  activity: Activity;
  log: Logger;
}

/**
 * The composition root: configuration -> parts -> listen -> graceful stop. What is opened first is closed last.
 * @throws Error with the fix where a part cannot start, or the system's own where an address cannot be listened on.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log } = options;
  await using stack = new AsyncDisposableStack();
  stack.use(await startTelemetry(config, log));
  const foundation = await layFoundation(options, { stack, executor: () => executor });
  const { live, storage, load, registry, admission, activity } = foundation;
  const secrets = stack.use(new RefreshedSecrets({ log, hide: options.hide }));
  const upstream = stack.use(await openUpstream(foundation, { stack, secrets }));
  const source: EmbeddingsSource = {
    embed: (request, options) => upstream.embed(request, options),
    observe: countEmbeddings(registry),
  };
  const toolbox = stack.use(openToolbox(foundation, source));
  const proxy = createModelProxy({ upstream });
  const streamed = stack.use(createStreamedPassage({ upstream }));
  const schemas = stack.use(new SchemaChecks());
  const webhooks = stack.use(new Webhooks({ storage, config: live, registry, clock: systemClock, log }));
  const usage = stack.use(new UsageLog({ store: storage.usage, registry, clock: systemClock, log }));
  const files = stack.use(new Files({ store: storage.files, config, clock: systemClock, log }));
  const embeddings = () => embeddingsOf(live.current().tools.web_search, source);
  const vectorStores = stack.use(openVectorStores({ storage, files, config, embeddings, clock: systemClock, log }));
  const sealer = new Sealer({ keys: config.store.encryption_keys, share: () => storage.secret() });
  const sealed = { thoughts: new SealedThoughts(sealer), summaries: new SealedSummaries(sealer) };
  const driver = createDriver({
    config: live,
    prompts: loadPrompts(),
    schemas,
    clock: systemClock,
    log,
    chatModel: (query) => upstream.chatModel(query),
    openTools: ({ user, fileSearch, ...request }) => {
      const readFile = (id: string, signal: AbortSignal) => files.attached(user, id, signal);
      const own = fileSearch && [fileSearchOf(vectorStores, { ...fileSearch, user })];
      return toolbox.open({ ...request, readFile, own });
    },
    proxy: proxyTask(live, proxy),
    ...sealed,
    encryptionKeyOf: (keyId) => live.encryptionKeyOf(keyId),
    ...accounting({ ...foundation, usage, webhooks }),
  });
  const owner = randomUUID();
  const kept = { store: storage.runs, clock: systemClock, retentionMs: config.store.retentionMs };
  const carried = new CarriedTranscripts({
    ...kept,
    conversations: storage.conversations,
    runMs: config.runs.maxRunMs,
  });
  const common = { ...kept, carried, driver, log, owner };
  const executor = await openExecutor(foundation, common, stack);
  const instances = stack.use(
    new Instances({
      limits: storage.limits,
      clock: systemClock,
      id: owner,
      executing: () => executor.active,
      recent: () => activity.recent(),
    }),
  );
  const keys = stack.use(
    new StoredKeys({
      store: storage.entries,
      live,
      // A secret that the store keeps would lie beside what it seals.
      ...(config.store.encryption_keys.length > 0 && { sealer }),
      replace: (next) => secrets.replace(live, next),
      clock: systemClock,
      log,
    }),
  );
  const audit = openAudit(foundation, { stack, instance: owner });
  const closing = new AbortController();
  const stopped = new AbortController();
  const conversations = new Conversations({ ...common, conversations: storage.conversations });
  const runs = createRuns({
    ...common,
    executor,
    conversations,
    maxQueued: () => live.current().runs.max_queued,
    encryptionKeyOf: (keyId) => live.encryptionKeyOf(keyId),
    deliveries: storage.deliveries,
    keyTells: (keyId) => live.keyById(keyId)?.webhook !== undefined,
    closing: closing.signal,
    stopped: stopped.signal,
  });
  const apps = createApps({
    compactor: new Compactor({
      ...sealed,
      chatModel: (query) => upstream.chatModel(query),
      currency: () => live.current().server.currency,
    }),
    ...sealed,
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
    files,
    ...vectorStores,
    documents: toolbox,
    proxy,
    answers: new KeptAnswers(storage.caches),
    streamed,
    schemas,
    clock: systemClock,
    showMetrics: () => options.showMetrics?.() ?? registry.metrics(),
    readiness: () => readiness({ store: storage.runs, upstream, secrets, overloaded: executor.overloaded || isLate() }),
    stopping: closing.signal,
    console: consolePages({ wellKnownKey: () => acceptedDefaultKey(live.current()) }),
    operator: { instance: owner, instances, providers: () => upstream.states(), activity },
  });
  const isLate = () => load.lagMs >= MAX_LAG_MS && (executor.active > 0 || Object.keys(apps.openRoutes()).length > 0);
  const busyWith = () => ({ routes: apps.openRoutes(), runs: executor.active });
  stack.use(new LoopWatch({ log, stood: countStandstills(registry), busyWith }));
  stack.use(countRefusals(registry));
  await keys.start();
  await executor.start();
  vectorStores.documentReader.start();
  if (storage.upkeep === 'here') stack.use(sweepExpired({ store: storage.runs, log }));
  const listening = stack.use(await openDoors(apps, config));
  stack.use(prepareRuns(config, { toolbox, log }));
  const owned = stack.move();
  const close = once(() => closeInOrder({ config, closing, stopped, executor, listening, owned, log }));
  const reload = async (next: GatewayConfig) => {
    // A command may take its time: keys are changed meanwhile.
    await secrets.prepare(next.providers);
    await keys.reload(next);
    if (storage.upkeep === 'here') await audit.record({ action: 'config.reloaded' });
  };
  return { url: listening.url, close, reload, [Symbol.asyncDispose]: close };
}

function openAudit(
  { live, storage, log }: Foundation,
  { stack, instance }: { stack: AsyncDisposableStack; instance: string },
): Audit {
  const target = live.current().logging.audit;
  const file = target === undefined ? undefined : stack.use(openAuditFile(target, log));
  return new Audit({ store: storage.entries, write: file?.write, instance, clock: systemClock, log });
}

async function layFoundation(
  { config, log, ...given }: GatewayOptions,
  { stack, executor }: { stack: AsyncDisposableStack; executor(): Executor },
): Promise<Foundation> {
  const live = new LiveConfig(config);
  const storage = stack.use(await (given.openStorage?.() ?? openStorage(config.store, { log })));
  const load = given.load ?? stack.use(new EventLoopLoad());
  const registry = given.registry ?? new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = new RunMetrics(registry, {
    load,
    active: () => executor().active,
    overloaded: () => executor().overloaded,
  });
  const admission = new Admission(storage.limits, () => live.current().teams);
  return { live, storage, load, registry, metrics, admission, activity: new Activity(), log };
}

async function openUpstream(
  { live, metrics, activity, log }: Foundation,
  { stack, secrets }: { stack: AsyncDisposableStack; secrets: RefreshedSecrets },
): Promise<Upstream> {
  const { providers } = live.current();
  await secrets.prepare(providers);
  const pace = Object.values(providers).find((provider) => 'builtin' in provider)?.pace_ms ?? 0;
  const demo = stack.use(await startDemoProvider({ paceMs: pace }));
  const observe = (report: AttemptReport) => {
    metrics.attempt(report);
    activity.attempt(report, systemClock.now());
  };
  const observeFirstToken = (provider: string, ms: number) => activity.firstToken(provider, ms, systemClock.now());
  const builtins = { demo: demo.url };
  const upstream = createUpstream(providers, { log, builtins, secrets, observe, observeFirstToken });
  live.onChange((next) => upstream.update(next.providers));
  return upstream;
}

/** One port, or a second one for operators. */
function openDoors(apps: Apps, { server }: GatewayConfig): Promise<Listening> {
  const { host, port, admin_port } = server;
  if (admin_port === undefined) return listen(host, [{ app: apps.all, port, upgrade: apps.upgrade }]);
  return listen(host, [
    { app: apps.api, port, upgrade: apps.upgrade },
    { app: apps.all, port: admin_port, upgrade: apps.upgrade },
  ]);
}

function openToolbox({ live, storage, log }: Foundation, embeddings: EmbeddingsSource): LiveToolbox {
  const cache = sharedCache(storage.caches, { namespace: 'tools', ttlMs: 3_600_000 });
  const toolbox = createLiveToolbox(live.current().tools, {
    create: async (config) => {
      const { createToolbox } = await import('./tools/toolbox.ts');
      return createToolbox(config, { log, cache, embeddings });
    },
    onCloseFailed: (cause) => log.warn({ err: messageOf(cause) }, 'old tools could not be closed'),
  });
  live.onChange((next) => toolbox.update(next.tools));
  return toolbox;
}

/** A background task on a proxy model. */
function proxyTask(live: LiveConfig, { complete }: Pick<ModelProxy, 'complete'>): RunDriver['proxy'] {
  return ({ run, request, metered, signal }) => {
    const model = live.current().models[run.model];
    if (model?.kind !== 'proxy') {
      throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
    }
    const account = new CallAccount();
    metered(() => account.used);
    const key = live.keyById(run.keyId);
    return complete({ modelName: run.model, model, key, body: request.body, account, signal });
  };
}

/**
 * New work is refused at once, with 503, so that clients and load balancers go elsewhere; runs are handed over, then
 * streams end and answers under way get what is left of the time.
 */
async function closeInOrder(parts: {
  config: GatewayConfig;
  closing: AbortController;
  stopped: AbortController;
  executor: Executor;
  listening: Listening;
  owned: AsyncDisposableStack;
  log: Logger;
}): Promise<void> {
  const { config, closing, stopped, executor, listening, owned, log } = parts;
  const graceMs = config.server.shutdownGraceMs;
  const until = performance.now() + graceMs;
  closing.abort(shuttingDown());
  try {
    await withTimeout('Stopping', graceMs + CLOSING_MS, async () => {
      await executor.stop({ graceMs: graceMs * HANDING_OVER });
      stopped.abort(shuttingDown());
      await listening.drain({ graceMs: Math.max(0, until - performance.now()) });
      await owned.disposeAsync();
    });
  } catch (thrown) {
    if (!(thrown instanceof TimeoutError)) throw thrown;
    // What is left waits for a store that does not answer; the claims on its runs run out.
    log.warn('not everything could be closed in the grace time');
  }
}
