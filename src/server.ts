import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { systemClock } from './base/clock.ts';
import { GatewayError, messageOf } from './base/errors.ts';
import type { JsonValue } from './base/json.ts';
import type { Logger } from './base/logger.ts';
import { sealingKey } from './base/seal.ts';
import type { GatewayConfig } from './config/schema.ts';
import { secretHash } from './config/secrets.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { createModelProxy } from './gateway/model-proxy.ts';
import { createApps } from './http/app.ts';
import type { Readiness } from './http/app-deps.ts';
import { Admission } from './http/limits/admission.ts';
import { createHttpServer } from './http/server.ts';
import { loadPrompts } from './research/prompts/load-prompts.ts';
import type { Executor, ExecutorOptions } from './runs/executor.ts';
import { sweepExpired } from './runs/expiry.ts';
import { LocalExecutor } from './runs/local-executor.ts';
import { RunMetrics } from './runs/metrics.ts';
import { createDriver } from './runs/research-driver.ts';
import { createRuns } from './runs/service.ts';
import { openStorage, type Storage } from './store/open.ts';
import type { RunStore } from './store/run-store.ts';
import { createToolbox, type Toolbox } from './tools/toolbox.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';

/** The part of the grace time for runs; the rest is for the answers that end with them. */
const HANDING_OVER = 0.9;

/** A gateway that runs in this process. */
export interface Gateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops in order: no new work, streams end, runs are handed over (contract section 10). */
  close(): Promise<void>;
  /** Takes over new providers, models, keys and tools; runs in progress end with the old ones where they hold them. */
  reload(config: GatewayConfig): Promise<void>;
}

/**
 * The composition root: configuration -> parts -> listen -> graceful stop. What is opened first is closed last.
 * @throws Error with the fix where a part cannot start, or the system's own where an address cannot be listened on.
 */
export async function startGateway(options: { config: GatewayConfig; log: Logger }): Promise<Gateway> {
  const { log } = options;
  let config = options.config;
  const clock = systemClock;
  await using stack = new AsyncDisposableStack();

  const storage = stack.use(await openStorage(config.store, { log }));
  const pace = Object.values(config.providers).find((provider) => 'builtin' in provider)?.pace_ms ?? 0;
  const demo = stack.use(await startDemoProvider({ paceMs: pace }));
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = new RunMetrics(registry, { active: () => executor.active });
  const upstream = stack.use(
    createUpstream(config.providers, {
      log,
      builtins: { demo: demo.url },
      observe: (report) => metrics.attempt(report),
    }),
  );
  const cache = toolCache(storage.caches);
  const openToolbox = () => createToolbox(config.tools, { log, cache });
  let toolbox: Toolbox = openToolbox();
  stack.defer(() => toolbox[Symbol.asyncDispose]());

  const sealingKeyOf = (keyId: string) => {
    const key = config.keys.find(({ id }) => id === keyId);
    return key && sealingKey(secretHash(key));
  };
  const proxy = stack.use(createModelProxy({ upstream }));
  const driver = createDriver({
    config: () => config,
    prompts: loadPrompts(),
    clock,
    log,
    chatModel: (query) => upstream.chatModel(query),
    openTools: (request) => toolbox.open(request),
    proxy: ({ run, request, signal }) => {
      const model = config.models[run.model];
      if (model?.kind !== 'proxy')
        throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
      const key = config.keys.find(({ id }) => id === run.keyId);
      return proxy.complete({ modelName: run.model, model, key, body: request.body, signal });
    },
    sealingKeyOf,
    metrics,
    ended({ id, keyId }) {
      const key = config.keys.find((known) => known.id === keyId);
      if (key) void Admission.free(storage.limits, { key, id });
    },
  });

  const owner = randomUUID();
  const retentionMs = config.store.retention_hours * 3_600_000;
  const store = storage.runs;
  const maxConcurrent = config.runs.max_concurrent;
  const executor = await openExecutor(storage, { store, driver, clock, log, owner, maxConcurrent, retentionMs }, stack);
  stack.defer(() => executor.stop({ graceMs: 0 }));
  const closing = new AbortController();
  const stopped = new AbortController();
  const runs = createRuns({
    store,
    executor,
    driver,
    clock,
    log,
    owner,
    maxQueued: () => config.runs.max_queued,
    retentionMs,
    sealingKeyOf,
    closing: closing.signal,
    stopped: stopped.signal,
  });
  const stopping = new AbortController();
  const apps = createApps({
    config: () => config,
    runs,
    proxy,
    caches: storage.caches,
    limits: storage.limits,
    log,
    clock,
    registry,
    readiness: () => readiness(store, upstream),
    stopping: stopping.signal,
  });

  await executor.start();
  stack.use(sweepExpired({ store, clock, log }));
  const { host, port, admin_port } = config.server;
  const main = await listen(createHttpServer(admin_port === undefined ? apps.both : apps.api), { host, port });
  const servers = [main];
  if (admin_port !== undefined) servers.push(await listen(createHttpServer(apps.admin), { host, port: admin_port }));

  const owned = stack.move();
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      const grace = config.server.shutdown_grace_seconds;
      const until = performance.now() + grace;
      stopping.abort();
      closing.abort(shuttingDown());
      // Meanwhile new work is still answered, with 503, so that clients and load balancers go elsewhere.
      await executor.stop({ graceMs: grace * HANDING_OVER });
      stopped.abort(shuttingDown());
      const graceMs = Math.max(0, until - performance.now());
      await Promise.all(servers.map((server) => drain(server, { graceMs })));
      await owned.disposeAsync();
    })();
    return closed;
  };
  return {
    url: urlOf(main, host),
    close,
    async reload(next) {
      upstream.update(next.providers);
      const retired = toolbox;
      config = next;
      toolbox = openToolbox();
      // Runs that still use the old tools keep them as long as a run may last.
      setTimeout(() => {
        void closeTools(retired, log);
      }, config.runs.max_minutes * 60_000).unref();
    },
    [Symbol.asyncDispose]: close,
  };
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
  const { QueueExecutor } = await import('./runs/queue-executor.ts');
  return new QueueExecutor({ ...options, connection });
}

async function closeTools(toolbox: Toolbox, log: Logger): Promise<void> {
  try {
    await toolbox[Symbol.asyncDispose]();
  } catch (error) {
    log.warn({ err: messageOf(error) }, 'old tools could not be closed');
  }
}

function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down. Try again.', { retryAfterMs: 1000 });
}

async function readiness(store: RunStore, upstream: Upstream): Promise<Readiness> {
  const reasons: string[] = [];
  const checked = await store.check();
  if (!checked.ok) reasons.push(`store: ${checked.reason}`);
  if (!upstream.health().some(({ usable }) => usable)) reasons.push('no provider is usable');
  return { ready: reasons.length === 0, reasons };
}

/** What tools keep for each other, in the store's cache. */
function toolCache(caches: Awaited<ReturnType<typeof openStorage>>['caches']) {
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

async function listen(server: Server, address: { host: string; port: number }): Promise<Server> {
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return server;
}

/** Stops listening and waits for answers under way, `graceMs` at most. */
async function drain(server: Server, { graceMs }: { graceMs: number }): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(limit);
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
