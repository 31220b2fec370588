import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId } from '../../base/ids.ts';
import type { SharedStorage } from '../beside/side-stores.ts';
import type { LimitHolder, LimitRelease, LimitRequest, LimitResult, LimitStore } from '../limit-store.ts';
import type { Append, AppendResult, RunStore } from '../run-store.ts';
import { type Callee, Outbox, type Question, readMessages, type StoreReply, toWireError } from './wire.ts';

/** A worker that takes nothing for so long that this many bytes wait for it gets gaps instead of batches. */
const MAX_UNSENT_BYTES = 16 * 1024 ** 2;

/** A store that other processes of this gateway reach. */
export interface StoreServer extends AsyncDisposable {
  /** Where they connect: a socket that only this user may open. */
  readonly path: string;
}

/** Shares a storage with the other processes of this gateway; it stays the caller's to close. */
export async function serveStore(shared: SharedStorage): Promise<StoreServer> {
  const folder = await mkdtemp(join(tmpdir(), 'research-gateway-'));
  await chmod(folder, 0o700);
  const path = process.platform === 'win32' ? `\\\\.\\pipe\\${folder.replaceAll(/[:\\]/g, '-')}` : join(folder, 's');
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    const served = new ServedWorker(socket, shared);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      sockets.delete(socket);
      served[Symbol.dispose]();
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

/** One worker's connection. */
class ServedWorker implements Disposable {
  readonly #shared: SharedStorage;
  readonly #runs: RunStore;
  readonly #limits: LimitStore;
  readonly #outbox: Outbox<StoreReply>;
  readonly #subscriptions = new Map<number, Disposable>();
  readonly #changes: Disposable;
  /** Appends of this worker under way: it delivers them to its own readers itself. */
  readonly #appending = new Set<string>();
  /** What calls of this worker hold of limits, by their holder. */
  readonly #taken = new Map<string, () => Promise<unknown>>();
  /** Calls that are more than those of the store. */
  readonly #own = {
    'runs.append': (id: RunId, batch: Append) => this.#append(id, batch),
    'limits.take': (holder: LimitHolder, requests: readonly LimitRequest[]) => this.#takeLimits(holder, requests),
    'limits.giveBack': (holder: LimitHolder, releases: readonly LimitRelease[]) => {
      this.#taken.delete(nameOf(holder));
      return this.#limits.giveBack(holder, releases);
    },
  };
  #left = false;

  constructor(socket: Socket, shared: SharedStorage) {
    const { runs, limits } = shared;
    this.#shared = shared;
    this.#runs = runs;
    this.#limits = limits;
    this.#outbox = new Outbox(socket);
    this.#changes = runs.onChange((change) => this.#outbox.send({ say: 'change', change }));
    readMessages<Question>(socket, (question) => this.#take(question));
  }

  [Symbol.dispose](): void {
    this.#left = true;
    this.#changes[Symbol.dispose]();
    for (const subscription of this.#subscriptions.values()) subscription[Symbol.dispose]();
    this.#giveUpCalls();
  }

  #take(question: Question): void {
    if (question.ask === 'unsubscribe') {
      this.#subscriptions.get(question.subscription)?.[Symbol.dispose]();
      this.#subscriptions.delete(question.subscription);
      return;
    }
    const { call } = question;
    const work = question.ask === 'subscribe' ? this.#subscribe(question) : this.#call(question);
    work.then(
      (value) => this.#outbox.send({ say: 'value', call, value }),
      (thrown: unknown) => this.#outbox.send({ say: 'error', call, error: toWireError(thrown) }),
    );
  }

  async #call({ callee, method, args }: Extract<Question, { ask: 'call' }>): Promise<unknown> {
    const target = this.#targetOf(callee);
    const work = Reflect.get(this.#own, `${callee.of}.${method}`) ?? Reflect.get(target, method);
    return await Reflect.apply(work, target, args);
  }

  #targetOf(callee: Callee): object {
    switch (callee.of) {
      case 'runs':
        return this.#runs;
      case 'limits':
        return this.#limits;
      case 'beside':
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
    // What belongs to a run outlives its worker; a call does not.
    const isTaken = results.every(({ granted }) => granted) && !holder.lasting;
    const giveUp = async () => await this.#limits.giveBack(holder, requests.flatMap(lastKnown));
    if (isTaken) this.#taken.set(nameOf(holder), giveUp);
    if (this.#left) this.#giveUpCalls();
    return results;
  }

  /** Calls of a worker that is gone: what they were known to have used is counted, the rest is given back. */
  #giveUpCalls(): void {
    for (const giveUp of this.#taken.values()) giveUp().catch(() => {});
    this.#taken.clear();
  }

  async #append(id: RunId, batch: Append): Promise<AppendResult> {
    const name = `${id} ${batch.first}`;
    this.#appending.add(name);
    try {
      return await this.#runs.append(id, batch);
    } finally {
      this.#appending.delete(name);
    }
  }

  async #subscribe({ id, subscription }: Extract<Question, { ask: 'subscribe' }>): Promise<void> {
    const outbox = this.#outbox;
    let behind = false;
    const subscribed = await this.#runs.subscribe(id, {
      onBatch: (batch) => {
        if (this.#appending.has(`${id} ${batch.first}`)) return;
        if (outbox.unsentBytes > MAX_UNSENT_BYTES) {
          behind = true;
          return;
        }
        // The gap goes out with the next batch that fits; until then the reader has nothing new to read anyway.
        if (behind) outbox.send({ say: 'gap', subscription });
        behind = false;
        outbox.send({ say: 'batch', subscription, batch });
      },
      onGap: () => outbox.send({ say: 'gap', subscription }),
    });
    if (this.#left) subscribed[Symbol.dispose]();
    else this.#subscriptions.set(subscription, subscribed);
  }
}

function nameOf({ key, id }: LimitHolder): string {
  return `${key} ${id}`;
}

/** Requests stay counted where they were one; see `LimitBudget.settle`. */
function lastKnown(request: LimitRequest): LimitRelease[] {
  if (request.kind === 'points') return [];
  const { name } = request;
  if (request.kind === 'place') return [{ kind: 'place', name }];
  return [{ kind: 'budget', name, windowSeconds: request.windowSeconds, points: request.points }];
}
