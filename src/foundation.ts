import { collectDefaultMetrics, Registry } from 'prom-client';
import { Audit } from './audit/audit.ts';
import { openAuditFile } from './audit/audit-file.ts';
import { messageOf } from './base/errors.ts';
import type { Logger } from './base/logger.ts';
import { once } from './base/once.ts';
import type { Sealer } from './base/secrets/sealed.ts';
import type { StartOptions } from './cli/running-gateway.ts';
import { LiveConfig } from './config/live-config.ts';
import type { GatewayConfig } from './config/schema.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { Files } from './files/files.ts';
import { Admission } from './http/limits/admission.ts';
import { LostHolds } from './http/limits/lost-holds.ts';
import { countEmbeddings } from './http/metrics.ts';
import { Activity } from './http/operator/activity.ts';
import { StoredKeys } from './keys/stored-keys.ts';
import type { Executor } from './runs/executing/executor.ts';
import { EventLoopLoad, type LoadMeter } from './runs/load-meter.ts';
import { RunMetrics } from './runs/metrics.ts';
import { jsonCache } from './store/cache.ts';
import { Instances } from './store/instances.ts';
import { openStorage, type Storage } from './store/open.ts';
import { SealedRunStore } from './store/sealed-runs.ts';
import { createLiveToolbox, type LiveToolbox } from './tools/live-toolbox.ts';
import { type EmbeddingsSource, embeddingsOf } from './tools/web-search/configured-embeddings.ts';
import type { RefreshedSecrets } from './upstream/credentials/refreshed-secrets.ts';
import { mayBeRefusal } from './upstream/embeddings.ts';
import type { AttemptReport } from './upstream/routing/attempts.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';
import { type OpenedVectorStores, openVectorStores } from './vector-stores/open.ts';

/** Opens the parts that a gateway is built on, each from the configuration; `server.ts` puts them together. */

export interface GatewayOptions {
  config: GatewayConfig;
  log: Logger;
  /** Opens a worker's connection to a store that another process holds; defaults to opening `config.store`. */
  openStorage?(): Promise<Storage>;
  /** The registry of its metrics; defaults to a new one. */
  registry?: Registry;
  /** How busy the process is, if it does other work too; defaults to a measurement of the event loop. */
  load?: LoadMeter;
  /** See `StartOptions`. */
  hide?: StartOptions['hide'];
  /** The text of /metrics; defaults to that of the registry. */
  showMetrics?(): Promise<string>;
}

/** What all other parts are built on. */
export interface Foundation {
  live: LiveConfig;
  storage: Storage;
  load: LoadMeter;
  registry: Registry;
  metrics: RunMetrics;
  admission: Admission;
  activity: Activity;
  log: Logger;
}

export async function openFoundation(
  { config, log, ...options }: GatewayOptions,
  { stack, executor }: { stack: AsyncDisposableStack; executor(): Executor },
): Promise<Foundation> {
  const live = new LiveConfig(config);
  const opened = stack.use(await (options.openStorage?.() ?? openStorage(config.store, { log })));
  const storage = { ...opened, runs: new SealedRunStore(opened.runs, (keyId) => live.cipherOf(keyId)) };
  const load = options.load ?? stack.use(new EventLoopLoad());
  const registry = options.registry ?? new Registry();
  addProcessMetrics(registry);
  const metrics = new RunMetrics(registry, {
    load,
    active: () => executor().active,
    waiting: () => executor().waiting,
    overloaded: () => executor().overloaded,
  });
  const admission = new Admission(storage.limits, () => live.current().teams, new LostHolds(storage));
  return { live, storage, load, registry, metrics, admission, activity: new Activity(), log };
}

/** Once, however many gateways a process runs: nothing ends their observers and timers, which keep their registry alive. */
const processMetrics = once(() => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
});

function addProcessMetrics(registry: Registry): void {
  for (const { name } of processMetrics().getMetricsAsArray()) {
    const metric = processMetrics().getSingleMetric(name);
    if (metric) registry.registerMetric(metric);
  }
}

export async function openUpstream(
  { live, storage, metrics, activity, log }: Foundation,
  { stack, secrets }: { stack: AsyncDisposableStack; secrets: RefreshedSecrets },
): Promise<Upstream> {
  const { providers } = live.current();
  await secrets.prepare(providers);
  const pace = Object.values(providers).find((provider) => 'builtin' in provider)?.pace_ms ?? 0;
  const demo = stack.use(await startDemoProvider({ paceMs: pace }));
  const observe = (report: AttemptReport) => {
    metrics.attempt(report);
    activity.recordAttempt(report, storage.clock.now());
  };
  const observeFirstToken = (provider: string, ms: number) =>
    activity.recordFirstToken(provider, ms, storage.clock.now());
  const builtins = { demo: demo.url };
  const upstream = createUpstream(providers, { log, builtins, secrets, observe, observeFirstToken });
  live.onChange((next) => upstream.update(next.providers));
  return upstream;
}

/** What runs can search and read. */
export interface Documents {
  toolbox: LiveToolbox;
  files: Files;
  vectorStores: OpenedVectorStores;
}

export function openDocuments(
  foundation: Foundation,
  { stack, upstream }: { stack: AsyncDisposableStack; upstream: Upstream },
): Documents {
  const { live, storage, registry, log } = foundation;
  const config = live.current();
  const source: EmbeddingsSource = {
    embed: (request, options) => upstream.embed(request, options),
    mayBeRefusal,
    observe: countEmbeddings(registry),
  };
  const toolbox = stack.use(openToolbox(foundation, source));
  const files = stack.use(
    new Files({
      store: storage.files,
      entries: storage.entries,
      config,
      cipherOf: (key) => live.cipherOf(key),
      clock: storage.clock,
      log,
    }),
  );
  const embeddings = () => embeddingsOf(live.current().tools.web_search, source);
  const vectorStores = stack.use(openVectorStores({ storage, files, config, embeddings, clock: storage.clock, log }));
  return { toolbox, files, vectorStores };
}

export function openInstances(
  { storage, activity }: Foundation,
  { id, executor }: { id: string; executor: Executor },
): Instances {
  const executing = () => executor.active;
  return new Instances({
    limits: storage.limits,
    clock: storage.clock,
    id,
    executing,
    recent: () => activity.recent(),
  });
}

export function openKeys(
  { live, storage, log }: Foundation,
  { secrets, sealer }: { secrets: RefreshedSecrets; sealer: Sealer },
): StoredKeys {
  return new StoredKeys({
    store: storage.entries,
    live,
    // Only with keys of the operator's: a secret from the store would lie next to what it encrypts.
    ...(live.current().store.encryption_keys.length > 0 && { sealer }),
    replace: (next) => secrets.replace(live, next),
    clock: storage.clock,
    log,
  });
}

export function openAudit(
  { live, storage, log }: Foundation,
  { stack, instance }: { stack: AsyncDisposableStack; instance: string },
): Audit {
  const target = live.current().logging.audit;
  const file = target === undefined ? undefined : stack.use(openAuditFile(target, log));
  return new Audit({ store: storage.entries, write: file?.write, instance, clock: storage.clock, log });
}

function openToolbox({ live, storage, log }: Foundation, embeddings: EmbeddingsSource): LiveToolbox {
  const cache = jsonCache(storage.caches, 'tools');
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
