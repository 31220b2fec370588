import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { SharedStorage, SideStores } from '../beside/side-stores.ts';
import { type LimitResult, type LimitStore, releaseOf } from '../limit-store.ts';
import { Listeners, LogListeners } from '../listeners.ts';
import type { LogHandlers, RunChange, RunStore } from '../run-store.ts';
import { checkAppend } from '../run-store-checks.ts';
import {
  type Callee,
  fromWireError,
  Outbox,
  type Question,
  readMessages,
  type StoreReply,
  type Structured,
} from './wire.ts';

/** How long an answer may take, in milliseconds: the process that holds the store is on this machine. */
const ANSWER_MS = 10_000;
/** How often answers that are late are looked for, in milliseconds. */
const CHECK_MS = 1000;

interface Pending {
  since: number;
  resolve(value: Structured): void;
  reject(reason: Error): void;
  /** Undoes the call where it is answered only after it has failed as late: it is carried out all the same. */
  undo: ((value: Structured) => void) | undefined;
}

/**
 * Connects to the process of this gateway that holds the store. A call fails with `store_unavailable` where its answer
 * takes longer than `answerMs`, up to a second later.
 * @throws the system's own error where nobody listens at `path`.
 */
export async function connectStore(path: string, { answerMs = ANSWER_MS } = {}): Promise<SharedStorage> {
  const socket = createConnection(path);
  await once(socket, 'connect');
  const link = new StoreLink(socket, answerMs);
  const beside = <K extends keyof SideStores>(store: K) => remote<SideStores[K]>(link, { of: 'beside', store });
  return {
    runs: sharedRuns(link),
    limits: sharedLimits(link),
    conversations: beside('conversations'),
    deliveries: beside('deliveries'),
    files: beside('files'),
    entries: beside('entries'),
    readings: beside('readings'),
    usage: beside('usage'),
    secret: () => link.call({ of: 'storage' }, 'secret', []),
  };
}

/**
 * Stands for its namesake in the process that holds the store: what is not among its `own` properties is a method that is
 * called there.
 */
function remote<T extends object>(link: StoreLink, callee: Callee, own: Partial<T> = {}): T {
  const made: Structured = new Proxy(own, {
    get(target, name) {
      // A promise would take whatever has a `then` for another one.
      if (name in target || typeof name === 'symbol' || name === 'then') return Reflect.get(target, name);
      return (...args: unknown[]) => link.call(callee, name, args);
    },
  });
  return made;
}

function sharedRuns(link: StoreLink): RunStore {
  const runs = remote<RunStore>(link, { of: 'runs' });
  return remote<RunStore>(
    link,
    { of: 'runs' },
    {
      restore: undefined,
      // What this worker appended reaches its own readers without another way through the socket.
      async append(id, batch) {
        checkAppend(batch);
        const appended = await runs.append(id, batch);
        if (appended.result === 'ok') link.listeners.appended(id, batch);
        return appended;
      },
      subscribe: (id, handlers) => link.subscribe(id, handlers),
      onChange: (listener) => link.changes.add(listener),
      check: () =>
        runs.check().catch(() => ({ ok: false, reason: 'the process that holds the store cannot be reached' })),
      close: () => link.close(),
    },
  );
}

function sharedLimits(link: StoreLink): LimitStore {
  const callee: Callee = { of: 'limits' };
  return remote<LimitStore>(link, callee, {
    counter: (window) => remote(link, { of: 'counter', ...window }),
    slots: ({ name }) => remote(link, { of: 'slots', name }),
    budget: (window) => remote(link, { of: 'budget', ...window }),
    take(holder, requests) {
      // Nobody else knows the holder: what is taken once this has failed would be taken for good.
      const undo = (results: LimitResult[]) => {
        if (!results.every(({ granted }) => granted)) return;
        link.call(callee, 'giveBack', [holder, requests.map(releaseOf)]).catch(() => {});
      };
      return link.call(callee, 'take', [holder, requests], undo);
    },
  });
}

/** Calls and answers over one connection. */
class StoreLink {
  readonly listeners = new LogListeners();
  readonly changes = new Listeners<RunChange>();
  readonly #closed: Promise<void>;
  readonly #socket: Socket;
  readonly #answerMs: number;
  readonly #outbox: Outbox<Question>;
  readonly #pending = new Map<number, Pending>();
  /** What undoes calls that failed as late, until they are answered: they may still be carried out. */
  readonly #undos = new Map<number, (value: Structured) => void>();
  readonly #subscriptions = new Map<number, LogHandlers>();
  readonly #check: NodeJS.Timeout;
  #number = 0;
  #closing = false;

  constructor(socket: Socket, answerMs: number) {
    this.#socket = socket;
    this.#answerMs = answerMs;
    this.#outbox = new Outbox(socket);
    readMessages<StoreReply>(socket, (answer) => this.#take(answer));
    socket.on('error', () => socket.destroy());
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#lose();
        resolve();
      });
    });
    this.#check = setInterval(() => this.#rejectLate(), CHECK_MS);
    this.#check.unref();
  }

  /** `undo` is given a value that comes only after the call has failed as late. */
  call(callee: Callee, method: string, args: readonly unknown[], undo?: Pending['undo']): Promise<Structured> {
    return this.#ask((call) => ({ ask: 'call', call, callee, method, args }), undo);
  }

  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    const subscription = ++this.#number;
    this.#subscriptions.set(subscription, handlers);
    const local = this.listeners.add(id, handlers);
    const dispose = () => {
      local[Symbol.dispose]();
      if (this.#subscriptions.delete(subscription)) this.#outbox.send({ ask: 'unsubscribe', subscription });
    };
    try {
      await this.#ask((call) => ({ ask: 'subscribe', call, id, subscription }));
    } catch (thrown) {
      dispose();
      throw thrown;
    }
    return { [Symbol.dispose]: dispose };
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#socket.destroy();
    await this.#closed;
  }

  #ask(question: (call: number) => Question, undo?: Pending['undo']): Promise<Structured> {
    if (this.#socket.destroyed) return Promise.reject(away());
    const call = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { since: performance.now(), resolve, reject, undo });
      this.#outbox.send(question(call));
    });
  }

  #take(answer: StoreReply): void {
    switch (answer.say) {
      case 'value':
        this.#settle(answer.call)?.resolve(answer.value);
        this.#undos.get(answer.call)?.(answer.value);
        this.#undos.delete(answer.call);
        return;
      case 'error':
        this.#settle(answer.call)?.reject(fromWireError(answer.error));
        this.#undos.delete(answer.call);
        return;
      case 'batch':
        this.#subscriptions.get(answer.subscription)?.onBatch(answer.batch);
        return;
      case 'gap':
        this.#subscriptions.get(answer.subscription)?.onGap();
        return;
      case 'change':
        this.changes.tell(answer.change);
    }
  }

  #settle(call: number): Pending | undefined {
    const pending = this.#pending.get(call);
    this.#pending.delete(call);
    return pending;
  }

  /** Calls are in the order of their time: the first that is young enough ends the search. */
  #rejectLate(): void {
    const oldest = performance.now() - this.#answerMs;
    for (const [call, { since, reject, undo }] of this.#pending) {
      if (since > oldest) return;
      this.#pending.delete(call);
      if (undo) this.#undos.set(call, undo);
      reject(away());
    }
  }

  #lose(): void {
    clearInterval(this.#check);
    for (const { reject } of this.#pending.values()) reject(away());
    this.#pending.clear();
    this.#undos.clear();
    if (!this.#closing) this.listeners.gapEverywhere();
  }
}

function away(): GatewayError {
  return new GatewayError('store_unavailable', 'The store cannot be reached.', { retryAfterMs: 1000 });
}
