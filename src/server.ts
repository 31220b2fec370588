import { randomUUID } from 'node:crypto';
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { TimeoutError, withTimeout } from './base/abort.ts';
import { systemClock } from './base/clock.ts';
import { encryptionKey } from './base/encrypt.ts';
import { GatewayError, messageOf } from './base/errors.ts';
import { refusals } from './base/fair-semaphore.ts';
import type { JsonValue } from './base/json.ts';
import { LoopWatch } from './base/load/loop-watch.ts';
import type { Logger } from './base/logger.ts';
import { once } from './base/once.ts';
import { acceptedDefaultKey } from './config/keyring.ts';
import { LiveConfig } from './config/live-config.ts';
import type { GatewayConfig, KeyConfig } from './config/schema.ts';
import { secretHash } from './config/secrets.ts';
import { consolePages } from './console/console-pages.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { CallAccount } from './gateway/call-account.ts';
import { createModelProxy } from './gateway/model-proxy.ts';
import type { ModelProxy } from './gateway/proxy-call.ts';
import { createStreamedPassage } from './gateway/streams/streamed-passage.ts';
import { createApps } from './http/app.ts';
import type { Readiness } from './http/app-deps.ts';
import { Admission } from './http/limits/admission.ts';
import { type Listening, listen } from './http/listening.ts';
import { Activity } from './http/operator/activity.ts';
import { SchemaChecks } from './research/answer/schema/schema-checks.ts';
import { loadPrompts } from './research/prompts/load-prompts.ts';
import type { RunDriver } from './runs/executing/execute-run.ts';
import type { Executor, ExecutorOptions } from './runs/executing/executor.ts';
import { EventLoopLoad, type LoadMeter, MAX_LAG_MS } from './runs/executing/load-meter.ts';
import { LocalExecutor } from './runs/executing/local-executor.ts';
import { createDriver } from './runs/executing/research-driver.ts';
import { sweepExpired } from './runs/expiry.ts';
import { RunMetrics } from './runs/metrics.ts';
import { createRuns } from './runs/service.ts';
import { readTrace } from './runs/stored/stored-request.ts';
import { Instances } from './store/instances.ts';
import { openStorage, type Storage } from './store/open.ts';
import { createLiveToolbox, type LiveToolbox } from './tools/live-toolbox.ts';
import type { EmbeddingsSource } from './tools/web-search/configured-search.ts';
import type { AttemptReport } from './upstream/routing/route-tries.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

/** The part of the grace time for runs; the rest is for the answers that end with them. */
const HANDING_OVER = 0.9;
/** How long closing may take beyond the grace time, in milliseconds. */
const CLOSING_MS = 1000;

/** What runs need is loaded this long after the start, in milliseconds: not in the way of the first requests. */
const LOAD_AFTER_MS = 100;

/** A gateway that runs in this process. */
export interface Gateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops in order: no new work, streams end, runs are handed over (contract section 10). */
  close(): Promise<void>;
  /** Takes over new providers, models, keys and tools; runs in progress end with the old ones where they hold them. */
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
  /** What /metrics shows; what the registry holds where absent. */
  showMetrics?(): Promise<string>;
}

/** What the parts are made with. */
interface Foundation {
  live: LiveConfig;
  storage: Storage;
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
  const live = new LiveConfig(config);
  const storage = stack.use(await (options.openStorage?.() ?? openStorage(config.store, { log })));
  const load = options.load ?? stack.use(new EventLoopLoad());
  const registry = options.registry ?? new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = new RunMetrics(registry, {
    load,
    active: () => executor.active,
    overloaded: () => executor.overloaded,
  });
  const admission = new Admission(storage.limits);
  const activity = new Activity();
  const foundation = { live, storage, registry, metrics, admission, activity, log };
  const upstream = stack.use(await openUpstream(foundation, stack));
  const toolbox = stack.use(openToolbox(foundation, upstream));
  const proxy = createModelProxy({ upstream });
  const streamed = stack.use(createStreamedPassage({ upstream }));
  const schemas = stack.use(new SchemaChecks());
  const driver = openDriver(foundation, { upstream, toolbox, proxy, schemas });

  const owner = randomUUID();
  const { retentionMs } = config.store;
  const common = { store: storage.runs, driver, clock: systemClock, log, owner, retentionMs };
  const executor = await openExecutor(
    storage,
    { ...common, load, maxConcurrent: config.runs.max_concurrent, mayRun: (run) => mayRun(live, run.keyId) },
    stack,
  );
  stack.defer(() => executor.stop({ graceMs: 0 }));
  const instances = stack.use(
    new Instances({
      limits: storage.limits,
      clock: systemClock,
      id: owner,
      executing: () => executor.active,
      recent: () => activity.recent(),
    }),
  );
  const closing = new AbortController();
  const stopped = new AbortController();
  const runs = createRuns({
    ...common,
    executor,
    maxQueued: () => live.current().runs.max_queued,
    encryptionKeyOf: (keyId) => encryptionKeyOf(live, keyId),
    closing: closing.signal,
    stopped: stopped.signal,
  });
  const apps = createApps({
    config: live,
    runs,
    proxy,
    streamed,
    schemas,
    load,
    admission,
    log,
    clock: systemClock,
    registry,
    showMetrics: () => options.showMetrics?.() ?? registry.metrics(),
    readiness: () => readiness(storage, { upstream, overloaded: executor.overloaded || isLate() }),
    stopping: closing.signal,
    console: consolePages({ wellKnownKey: () => acceptedDefaultKey(live.current()) }),
    operator: { instance: owner, instances, providers: () => upstream.states(), activity },
  });

  const hasWork = () => executor.active > 0 || Object.keys(apps.openRoutes()).length > 0;
  const isLate = () => load.lagMs >= MAX_LAG_MS && hasWork();
  stack.use(watchLoop(foundation, { routes: () => apps.openRoutes(), runs: () => executor.active }));
  stack.use(countRefusals(foundation));
  await executor.start();
  if (storage.upkeep === 'here') stack.use(sweepExpired({ store: storage.runs, log }));
  const { host, port, admin_port } = config.server;
  const listening = stack.use(
    await listen(
      host,
      admin_port === undefined
        ? [{ app: apps.both, port, upgrade: apps.upgrade }]
        : [
            { app: apps.api, port, upgrade: apps.upgrade },
            { app: apps.admin, port: admin_port },
          ],
    ),
  );
  if (Object.values(config.models).some(({ kind }) => kind === 'research')) {
    const timer = setTimeout(prepareRuns, LOAD_AFTER_MS, { toolbox, log });
    stack.defer(() => clearTimeout(timer));
  }
  const owned = stack.move();
  const graceMs = config.server.shutdownGraceMs;
  const close = once(() => closeInOrder({ graceMs, closing, stopped, executor, listening, owned, log }));
  return {
    url: listening.url,
    close,
    reload: async (next) => live.replace(next),
    [Symbol.asyncDispose]: close,
  };
}

async function openUpstream(
  { live, metrics, activity, log }: Foundation,
  stack: AsyncDisposableStack,
): Promise<Upstream> {
  const { providers } = live.current();
  const pace = Object.values(providers).find((provider) => 'builtin' in provider)?.pace_ms ?? 0;
  const demo = stack.use(await startDemoProvider({ paceMs: pace }));
  const builtins = { demo: demo.url };
  const observe = (report: AttemptReport) => {
    metrics.attempt(report);
    activity.attempt(report, systemClock.now());
  };
  const upstream = createUpstream(providers, { log, builtins, observe });
  live.onChange((next) => upstream.update(next.providers));
  return upstream;
}

/** Loads and makes what the first run would wait for; the start itself does not need it. */
function prepareRuns({ toolbox, log }: { toolbox: LiveToolbox; log: Logger }): void {
  Promise.all([import('./research/loop.ts'), toolbox.prepare(), import('./upstream/routing/ask-route.ts')]).catch(
    (thrown: unknown) => log.error({ err: messageOf(thrown) }, 'research cannot be prepared'),
  );
}

function openToolbox({ live, storage, registry, log }: Foundation, upstream: Upstream): LiveToolbox {
  const cache = toolCache(storage.caches);
  const embedded = new Counter({
    name: 'gateway_search_embeddings_total',
    help: 'Requests for embeddings of the local search, for queries and for documents.',
    labelNames: ['for', 'outcome'],
    registers: [registry],
  });
  const embeddings: EmbeddingsSource = {
    embed: (request, options) => upstream.embed(request, options),
    observe: (purpose, outcome) => embedded.inc({ for: purpose, outcome }),
  };
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

function openDriver(
  { live, metrics, admission, activity, log }: Foundation,
  {
    upstream,
    toolbox,
    proxy,
    schemas,
  }: { upstream: Upstream; toolbox: LiveToolbox; proxy: ModelProxy; schemas: SchemaChecks },
): RunDriver {
  return createDriver({
    config: live,
    prompts: loadPrompts(),
    schemas,
    clock: systemClock,
    log,
    chatModel: (query) => upstream.chatModel(query),
    openTools: (request) => toolbox.open(request),
    proxy: ({ run, request, metered, signal }) => {
      const model = live.current().models[run.model];
      if (model?.kind !== 'proxy') {
        throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
      }
      const key = live.keyById(run.keyId);
      const account = new CallAccount();
      metered(() => account.spent);
      const trace = readTrace(run);
      return proxy.complete({ modelName: run.model, model, key, body: request.body, account, trace, signal });
    },
    encryptionKeyOf: (keyId) => encryptionKeyOf(live, keyId),
    metrics,
    begins: (run) =>
      admission
        .runBegins({ ...run, runMs: live.current().runs.maxRunMs })
        .catch((thrown) => log.warn({ run: run.id, err: messageOf(thrown) }, 'a run that begins was not counted')),
    used: (run) => {
      // A store that is away is told by the next step.
      admission.runUsed({ ...run, runMs: live.current().runs.maxRunMs }).catch(() => {});
    },
    ended: (run) => {
      admission
        .runEnded(run)
        .catch((thrown) => log.warn({ run: run.id, err: messageOf(thrown) }, 'limits of an ended run were not freed'));
      const { error, model, keyId } = run;
      if (error === undefined || error === 'cancelled') return;
      activity.failed({ at: systemClock.now(), where: 'run', code: error, model, key: keyId });
    },
  });
}

function watchLoop(
  { log, registry }: Foundation,
  { routes, runs }: { routes(): Record<string, number>; runs(): number },
): LoopWatch {
  const seconds = new Counter({
    name: 'gateway_event_loop_stood_seconds_total',
    help: 'Time for which one step held the event loop, of steps of more than 200 ms.',
    labelNames: ['step'],
    registers: [registry],
  });
  return new LoopWatch({
    log,
    stood: (step, ms) => seconds.inc({ step }, ms / 1000),
    busyWith: () => ({ routes: routes(), runs: runs() }),
  });
}

/** Counts what was refused because a bound was reached, by the name of the bound. */
function countRefusals({ registry }: Foundation): Disposable {
  const refused = new Counter({
    name: 'gateway_bounds_refused_total',
    help: 'Work that was refused because too much of its kind was under way.',
    labelNames: ['bound'],
    registers: [registry],
  });
  const count = (name: unknown) => refused.inc({ bound: String(name) });
  refusals.subscribe(count);
  return { [Symbol.dispose]: () => void refusals.unsubscribe(count) };
}

/** Whether the runs of a key go on: where it was removed, by choice. */
function mayRun(live: LiveConfig, keyId: string): boolean {
  return live.current().runs.keys_removed === 'keep' || live.keyById(keyId) !== undefined;
}

/** Alone, this process asks the store for runs; where several share it, a queue deals them out. */
async function openExecutor(
  storage: Storage,
  options: ExecutorOptions,
  stack: AsyncDisposableStack,
): Promise<Executor> {
  if (!storage.openQueue) return new LocalExecutor(options);
  const connection = stack.use(await storage.openQueue());
  // Loaded only where it is needed: it takes a tenth of a second.
  const { QueueExecutor } = await import('./runs/executing/queue-executor.ts');
  return new QueueExecutor({ ...options, connection });
}

/**
 * New work is refused at once, with 503, so that clients and load balancers go elsewhere; runs are handed over, then
 * streams end and answers under way get what is left of the time.
 */
async function closeInOrder(parts: {
  graceMs: number;
  closing: AbortController;
  stopped: AbortController;
  executor: Executor;
  listening: Listening;
  owned: AsyncDisposableStack;
  log: Logger;
}): Promise<void> {
  const { graceMs, closing, stopped, executor, listening, owned, log } = parts;
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

function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down. Try again.', { retryAfterMs: 1000 });
}

async function readiness(
  storage: Storage,
  { upstream, overloaded }: { upstream: Upstream; overloaded: boolean },
): Promise<Readiness> {
  const reasons: string[] = [];
  const checked = await storage.runs.check();
  if (!checked.ok) reasons.push(`store: ${checked.reason}`);
  if (!upstream.health().some(({ usable }) => usable)) reasons.push('no provider is usable');
  if (overloaded) reasons.push('overloaded: new work is refused or held back');
  return { ready: reasons.length === 0, reasons };
}

/** Derived keys, each made once for a configuration. */
const derivedKeys = new WeakMap<KeyConfig, Buffer>();

/** What credentials of a request are encrypted with while its run is stored; undefined once the key is removed. */
function encryptionKeyOf(live: LiveConfig, keyId: string): Buffer | undefined {
  const key = live.keyById(keyId);
  if (!key) return undefined;
  const derived = derivedKeys.get(key) ?? encryptionKey(secretHash(key));
  derivedKeys.set(key, derived);
  return derived;
}

/** What tools keep for each other, in the store's cache. */
function toolCache(caches: Storage['caches']) {
  const cache = caches.open<JsonValue>({
    namespace: 'tools',
    ttlMs: 3_600_000,
    parse: (value) => (isJson(value) ? value : undefined),
  });
  return {
    get: (key: string) => cache.get(key),
    set: (key: string, value: JsonValue, ttlMs: number) => cache.set(key, value, { ttlMs }),
  };
}

/** What comes back from a cache was JSON when it went in. */
function isJson(value: unknown): value is JsonValue {
  return value !== undefined;
}
