import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { AggregatorRegistry } from 'prom-client';
import { sleep } from '../base/abort.ts';
import { COMPILE_CACHE_FOLDER } from '../base/compile-cache.ts';
import { isObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { sweepExpired } from '../runs/expiry.ts';
import { openStorage } from '../store/open.ts';
import { serveStore } from '../store/shared/store-server.ts';
import { type FromWorker, isFromWorker, type ToWorker } from './worker-messages.ts';

/** How long a worker may take beyond the grace time before it is killed, in milliseconds. */
const STOP_MARGIN_MS = 2000;
/** A worker that lived at least this long is replaced at once, in milliseconds; others with growing pauses. */
const CALM_MS = 10_000;
/** Pauses before the replacements of workers that die again and again, in milliseconds. */
const REPLACE_MS = { first: 100, max: 5000 } as const;
/** How many starts in a row may fail while no worker listens, before the gateway gives up. */
const MAX_FAILED_STARTS = 5;

interface WorkerState {
  at: number;
  /** The port that it was started with; undefined: the file's. */
  port: string | undefined;
  isListening: boolean;
  /** Why it cannot start. */
  failure: string | undefined;
}

/** A gateway in several processes behind one port. */
export interface WorkerGateway extends AsyncDisposable {
  readonly url: string;
  /** Resolves with the reason if the workers cannot be kept running. */
  readonly failed: Promise<string>;
  close(): Promise<void>;
}

/**
 * Runs `workers` processes that share the port and one store. Over Redis each is an ordinary instance. A `file:` or
 * `memory:` store is held by this process, which serves no request itself: workers reach it over a local socket, and
 * appends of all of them are committed together. A worker that dies is replaced; the others take over its runs.
 * @throws Error with the fix if the store or the workers cannot start.
 */
export async function startWorkers(options: Omit<PoolOptions, 'socket'>): Promise<WorkerGateway> {
  const { config, log } = options;
  await using stack = new AsyncDisposableStack();
  const socket = await holdStore(config, { log, stack });
  const pool = new WorkerPool({ ...options, socket });
  stack.defer(() => pool.stop());
  const url = await pool.start();
  const owned = stack.move();
  const close = () => owned.disposeAsync();
  return { url, failed: pool.failed, close, [Symbol.asyncDispose]: close };
}

/** Opens an embedded store and serves it; returns the socket's path. Undefined if every worker opens the store itself. */
async function holdStore(
  config: GatewayConfig,
  { log, stack }: { log: Logger; stack: AsyncDisposableStack },
): Promise<string | undefined> {
  if (/^redis/.test(config.store.url)) return undefined;
  const storage = stack.use(await openStorage(config.store, { log }));
  const server = stack.use(await serveStore(storage));
  stack.use(sweepExpired({ store: storage.runs, log }));
  return server.path;
}

interface PoolOptions {
  config: GatewayConfig;
  /** The configuration file: workers read it themselves, and again when it changes. */
  file: string;
  workers: number;
  socket: string | undefined;
  log: Logger;
}

/** Keeps a number of workers running until it is stopped. */
class WorkerPool {
  readonly #options: PoolOptions;
  readonly #listening = Promise.withResolvers<string>();
  readonly #failed = Promise.withResolvers<string>();
  readonly failed = this.#failed.promise;
  readonly #metrics = new AggregatorRegistry();
  readonly #states = new Map<number, WorkerState>();
  #failedStarts = 0;
  #quickDeaths = 0;
  #port: string | undefined;
  readonly #stopping = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Resolves to the URL that all workers listen on, once the first of them does. @throws Error if none can. */
  async start(): Promise<string> {
    cluster.setupPrimary({ exec: fileURLToPath(new URL('./worker.ts', import.meta.url)), serialization: 'advanced' });
    // SIGHUP may be sent to this process only: pass it on.
    process.on('SIGHUP', this.#onHangup);
    cluster.on('message', (worker, message: unknown) => {
      if (isFromWorker(message)) void this.#onMessage(worker, message);
    });
    cluster.on('exit', (worker, code, signal) => this.#replace(worker, signal ?? `exit code ${code}`));
    for (let n = 0; n < this.#options.workers; n++) this.#fork();
    void this.#failed.promise.then((reason) => this.#listening.reject(new Error(reason)));
    return await this.#listening.promise;
  }

  readonly #onHangup = () => {
    for (const worker of workers()) worker.process.kill('SIGHUP');
  };

  /** Stops all workers gracefully, and kills those that do not stop in time. */
  async stop(): Promise<void> {
    process.off('SIGHUP', this.#onHangup);
    this.#stopping.abort();
    const limitMs = this.#options.config.server.shutdownGraceMs + STOP_MARGIN_MS;
    await Promise.all(
      workers().map(async (worker) => {
        const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
        send(worker, { tell: 'stop' });
        const force = setTimeout(() => worker.process.kill('SIGKILL'), limitMs);
        await exited;
        clearTimeout(force);
      }),
    );
  }

  #fork(): void {
    const worker = cluster.fork({ NODE_COMPILE_CACHE: COMPILE_CACHE_FOLDER });
    closeUntakenConnection(worker);
    const port = this.#portForNext();
    this.#states.set(worker.id, { at: performance.now(), port, isListening: false, failure: undefined });
    const { file, socket } = this.#options;
    worker.once('online', () => send(worker, { tell: 'start', file, socket, port }));
  }

  /**
   * The port for the next worker. Workers share a socket only if they request the same port: if the file says 0, a later one
   * must request 0 like those that listen, and the actual number only if none is left.
   */
  #portForNext(): string | undefined {
    const peer = this.#states.values().find(({ isListening }) => isListening);
    return peer ? peer.port : this.#port;
  }

  #replace(worker: Worker, how: string): void {
    const { log } = this.#options;
    const state = this.#states.get(worker.id);
    this.#states.delete(worker.id);
    if (this.#stopping.signal.aborted) return;
    const reason = state?.failure;
    log.error({ worker: worker.process.pid, how, ...(reason && { reason }) }, 'a worker died and is replaced');
    if (!state?.isListening) this.#failedStarts++;
    if (this.#failedStarts >= MAX_FAILED_STARTS && !this.#states.values().some(({ isListening }) => isListening)) {
      this.#failed.resolve(`workers do not start: the last one ended with ${reason ?? how}`);
      return;
    }
    const lived = performance.now() - (state?.at ?? 0);
    this.#quickDeaths = lived < CALM_MS ? this.#quickDeaths + 1 : 0;
    const pauseMs = this.#quickDeaths && Math.min(REPLACE_MS.first * 2 ** (this.#quickDeaths - 1), REPLACE_MS.max);
    sleep(pauseMs, { signal: this.#stopping.signal }).then(
      () => this.#fork(),
      () => {},
    );
  }

  #onListening(worker: Worker, url: string): void {
    const { port } = new URL(url);
    const state = this.#states.get(worker.id);
    if (!state || (this.#port !== undefined && port !== this.#port)) {
      // All others died between its start and now, and their socket with them: it has another port.
      worker.process.kill('SIGKILL');
      return;
    }
    this.#options.log.info({ worker: worker.process.pid }, 'a worker is listening');
    state.isListening = true;
    this.#failedStarts = 0;
    this.#port = port;
    this.#listening.resolve(url);
  }

  async #onMessage(worker: Worker, message: FromWorker): Promise<void> {
    const state = this.#states.get(worker.id);
    switch (message.say) {
      case 'listening':
        this.#onListening(worker, message.url);
        return;
      case 'failed':
        if (state) state.failure = message.reason;
        // No effect once a worker listens; after that, one that fails is replaced like one that died.
        this.#listening.reject(Object.assign(new Error(message.reason), { code: message.code }));
        return;
      case 'metrics': {
        const text = await this.#metrics.clusterMetrics().catch(() => undefined);
        send(worker, { tell: 'metrics', call: message.call, text });
      }
    }
  }
}

/**
 * Closes the last connection that a worker was handed when it exits. Node, which hands over one at a time, forgets it if the
 * worker dies before it takes it, and its client would wait for ever. One that was taken is closed here already.
 */
function closeUntakenConnection({ process: child }: Worker): void {
  const send = child.send.bind(child);
  let last: Record<string, unknown> = {};
  Object.assign(child, {
    send(...args: Parameters<typeof send>) {
      if (isObject(args[1])) last = args[1];
      return send(...args);
    },
  });
  child.once('exit', () => {
    if (typeof last.close === 'function') last.close();
  });
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function send(worker: Worker, message: ToWorker): void {
  // A worker that has just died is replaced once its exit is reported.
  if (worker.isConnected()) worker.send(message, () => {});
}
