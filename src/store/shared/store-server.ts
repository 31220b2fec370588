import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { RunId } from '../../base/ids.ts';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import {
  type LimitHolder,
  type LimitRelease,
  type LimitRequest,
  type LimitResult,
  type LimitStore,
  releaseOf,
} from '../limit-store.ts';
import type { AppendBatch, AppendResult, RunStore } from '../run-store.ts';
import type { SharedStorage } from '../side-stores/side-stores.ts';
import { type Callee, Outbox, readMessages, type StoreReply, type StoreRequest, toWireError } from './wire.ts';

/** A worker with more unsent bytes than this gets gaps instead of batches. */
const MAX_UNSENT_BYTES = 16 * 1024 ** 2;

/** A store that other processes of this gateway can use. */
export interface StoreServer extends AsyncDisposable {
  /** Path of the socket, which only this user may open. */
  readonly path: string;
}

/** How long the path of a socket may be where that is shortest (macOS), in bytes. */
const MAX_SOCKET_PATH = 103;

/**
 * Serves a storage to the other processes of this gateway. The caller still closes it.
 * @throws Error with the fix if the folder for temporary files cannot hold its socket.
 */
export async function serveStore(shared: SharedStorage): Promise<StoreServer> {
  const folder = makeTemporaryFolder('store');
  const path = process.platform === 'win32' ? `\\\\.\\pipe\\${folder.replaceAll(/[:\\]/g, '-')}` : join(folder, 's');
  if (process.platform !== 'win32' && Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`${path} is too long for the socket of the workers: set TMPDIR to a folder with a shorter path`);
  }
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    const connection = new WorkerConnection(socket, shared);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      sockets.delete(socket);
      connection[Symbol.dispose]();
    });
  });
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

class WorkerConnection implements Disposable {
  readonly #shared: SharedStorage;
  readonly #runs: RunStore;
  readonly #limits: LimitStore;
  readonly #outbox: Outbox<StoreReply>;
  readonly #subscriptions = new Map<number, DisposableStack>();
  readonly #changes: Disposable;
  /** Appends of this worker in progress; the worker passes them to its own readers itself. */
  readonly #appending = new Set<string>();
  /** Releases the limits that calls of this worker hold, by holder. */
  readonly #callReleases = new Map<string, () => Promise<unknown>>();
  /** Methods that do more than the method of the store. */
  readonly #own = {
    runs: { append: (id, batch) => this.#append(id, batch) },
    limits: {
      take: (holder, requests) => this.#takeLimits(holder, requests),
      release: (holder, releases) => {
        this.#callReleases.delete(holderKey(holder));
        return this.#limits.release(holder, releases);
      },
    },
  } satisfies { runs: Partial<RunStore>; limits: Partial<LimitStore> };
  #disconnected = false;

  constructor(socket: Socket, shared: SharedStorage) {
    const { runs, limits } = shared;
    this.#shared = shared;
    this.#runs = runs;
    this.#limits = limits;
    this.#outbox = new Outbox(socket);
    this.#changes = runs.onChange((change) => this.#outbox.send({ say: 'change', change }));
    readMessages<StoreRequest>(socket, (request) => this.#handleRequest(request));
  }

  [Symbol.dispose](): void {
    this.#disconnected = true;
    this.#changes[Symbol.dispose]();
    for (const subscription of this.#subscriptions.values()) subscription.dispose();
    this.#releaseCalls();
  }

  #handleRequest(request: StoreRequest): void {
    if (request.ask === 'unsubscribe') {
      this.#subscriptions.get(request.subscription)?.dispose();
      this.#subscriptions.delete(request.subscription);
      return;
    }
    const { call } = request;
    const work = request.ask === 'subscribe' ? this.#subscribe(request) : this.#call(request);
    work.then(
      (value) => this.#outbox.send({ say: 'value', call, value }),
      (thrown: unknown) => this.#outbox.send({ say: 'error', call, error: toWireError(thrown) }),
    );
  }

  async #call({ callee, method, args }: Extract<StoreRequest, { ask: 'call' }>): Promise<unknown> {
    const target = this.#targetOf(callee);
    const own: Partial<Record<Callee['of'], object>> = this.#own;
    const work = Reflect.get(own[callee.of] ?? {}, method) ?? Reflect.get(target, method);
    return await Reflect.apply(work, target, args);
  }

  #targetOf(callee: Callee): object {
    switch (callee.of) {
      case 'runs':
        return this.#runs;
      case 'limits':
        return this.#limits;
      case 'side':
        return this.#shared[callee.store];
      case 'storage':
        return this.#shared;
      case 'counter':
        return this.#limits.counter(callee);
      case 'budget':
        return this.#limits.budget(callee);
      case 'slots':
        return this.#limits.slots(callee);
    }
  }

  async #takeLimits(holder: LimitHolder, requests: readonly LimitRequest[]): Promise<LimitResult[]> {
    const results = await this.#limits.take(holder, requests);
    // What a run holds outlives its worker; what a call holds does not.
    const isTaken = results.every(({ granted }) => granted) && !holder.lasting;
    const release = async () => await this.#limits.release(holder, requests.flatMap(callReleaseOf));
    if (isTaken) this.#callReleases.set(holderKey(holder), release);
    if (this.#disconnected) this.#releaseCalls();
    return results;
  }

  /** Releases what calls of a disconnected worker hold. What they are known to have used is counted. */
  #releaseCalls(): void {
    for (const release of this.#callReleases.values()) release().catch(() => {});
    this.#callReleases.clear();
  }

  async #append(id: RunId, batch: AppendBatch): Promise<AppendResult> {
    const name = `${id} ${batch.first}`;
    this.#appending.add(name);
    try {
      return await this.#runs.append(id, batch);
    } finally {
      this.#appending.delete(name);
    }
  }

  async #subscribe({ id, subscription }: Extract<StoreRequest, { ask: 'subscribe' }>): Promise<void> {
    const outbox = this.#outbox;
    // Known from now on, because it may be over before it is made.
    const parts = new DisposableStack();
    this.#subscriptions.set(subscription, parts);
    let isBehind = false;
    const subscribed = await this.#runs.subscribe(id, {
      onBatch: (batch) => {
        if (this.#appending.has(`${id} ${batch.first}`)) return;
        if (outbox.unsentBytes > MAX_UNSENT_BYTES) {
          isBehind = true;
          return;
        }
        // The gap is sent before the next batch that fits. Until then the reader has nothing new to read.
        if (isBehind) outbox.send({ say: 'gap', subscription });
        isBehind = false;
        outbox.send({ say: 'batch', subscription, batch });
      },
      onGap: () => outbox.send({ say: 'gap', subscription }),
    });
    if (parts.disposed) subscribed[Symbol.dispose]();
    else parts.use(subscribed);
  }
}

function holderKey({ key, id }: LimitHolder): string {
  return `${key} ${id}`;
}

/** What to release for a call whose end is unknown. Points stay counted; see `LimitBudget.settle` for budgets. */
function callReleaseOf(request: LimitRequest): LimitRelease[] {
  if (request.kind === 'points') return [];
  const release = releaseOf(request);
  return [release.kind === 'budget' ? { ...release, spent: undefined } : release];
}
