import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { type LimitResult, type LimitStore, releaseOf } from '../limit-store.ts';
import { Listeners, LogListeners } from '../listeners.ts';
import type { LogHandlers, RunChange, RunStore } from '../run-store.ts';
import { checkAppend } from '../run-store-checks.ts';
import type { SharedStorage, SideStores } from '../side-stores/side-stores.ts';
import {
  type Callee,
  fromWireError,
  Outbox,
  readMessages,
  type StoreReply,
  type StoreRequest,
  type WireValue,
} from './wire.ts';

/** Longest wait for an answer, in milliseconds: the process that holds the store is on this machine. */
const ANSWER_MS = 10_000;
/** How often overdue answers are looked for, in milliseconds. */
const CHECK_MS = 1000;

interface Pending {
  since: number;
  resolve(value: WireValue): void;
  reject(reason: Error): void;
  /** Whether it was rejected already. The server carries it out all the same, and answers late. */
  isOverdue: boolean;
  /** Undoes an overdue call once it is answered. */
  undo: ((value: WireValue) => void) | undefined;
}

/**
 * Connects to the process of this gateway that holds the store. A call fails with `store_unavailable` if its answer
 * takes longer than `answerMs` (checked once a second).
 * @throws the system's own error if nobody listens at `path`.
 */
export async function connectStore(path: string, { answerMs = ANSWER_MS } = {}): Promise<SharedStorage> {
  const socket = createConnection(path);
  await once(socket, 'connect');
  const link = new StoreLink(socket, answerMs);
  const side = <K extends keyof SideStores>(store: K) => remoteProxy<SideStores[K]>(link, { of: 'side', store });
  return {
    runs: remoteRunStore(link),
    limits: remoteLimitStore(link),
    conversations: side('conversations'),
    deliveries: side('deliveries'),
    files: side('files'),
    entries: side('entries'),
    readings: side('readings'),
    usage: side('usage'),
    secret: () => link.call({ of: 'storage' }, 'secret', []),
  };
}

/** Proxies an object in the process that holds the store: any method that is not an `own` property is called there. */
function remoteProxy<T extends object>(link: StoreLink, callee: Callee, own: Partial<T> = {}): T {
  const proxy: WireValue = new Proxy(own, {
    get(target, name) {
      // A promise treats any object that has a `then` as another promise.
      if (name in target || typeof name === 'symbol' || name === 'then') return Reflect.get(target, name);
      return (...args: unknown[]) => link.call(callee, name, args);
    },
  });
  return proxy;
}

function remoteRunStore(link: StoreLink): RunStore {
  const runs = remoteProxy<RunStore>(link, { of: 'runs' });
  return remoteProxy<RunStore>(
    link,
    { of: 'runs' },
    {
      restore: undefined,
      // The readers of this worker get its own appends directly, without a second way through the socket.
      async append(id, batch) {
        checkAppend(batch);
        const appended = await runs.append(id, batch);
        if (appended.result === 'ok') link.listeners.emitAppended(id, batch);
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

function remoteLimitStore(link: StoreLink): LimitStore {
  const callee: Callee = { of: 'limits' };
  const limits = remoteProxy<LimitStore>(link, callee);
  return remoteProxy<LimitStore>(link, callee, {
    counter: (window) => remoteProxy(link, { of: 'counter', ...window }),
    slots: ({ name }) => remoteProxy(link, { of: 'slots', name }),
    budget: (window) => remoteProxy(link, { of: 'budget', ...window }),
    take(holder, requests) {
      // Only this worker knows the holder, so what is taken after this call has failed would never be released.
      const undo = (results: LimitResult[]) => {
        if (!results.every(({ granted }) => granted)) return;
        limits.release(holder, requests.map(releaseOf)).catch(() => {});
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
  readonly #outbox: Outbox<StoreRequest>;
  readonly #pending = new Map<number, Pending>();
  readonly #subscriptions = new Map<number, LogHandlers>();
  readonly #overdueTimer: NodeJS.Timeout;
  #lastNumber = 0;
  #closing = false;

  constructor(socket: Socket, answerMs: number) {
    this.#socket = socket;
    this.#answerMs = answerMs;
    this.#outbox = new Outbox(socket);
    readMessages<StoreReply>(socket, (answer) => this.#handleReply(answer));
    socket.on('error', () => socket.destroy());
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#onClose();
        resolve();
      });
    });
    this.#overdueTimer = setInterval(() => this.#rejectOverdue(), CHECK_MS);
  }

  /** `undo` gets the value if it arrives only after the call was rejected as overdue. */
  call(callee: Callee, method: string, args: readonly unknown[], undo?: Pending['undo']): Promise<WireValue> {
    return this.#ask((call) => ({ ask: 'call', call, callee, method, args }), undo);
  }

  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    const subscription = ++this.#lastNumber;
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

  #ask(request: (call: number) => StoreRequest, undo?: Pending['undo']): Promise<WireValue> {
    if (this.#socket.destroyed) return Promise.reject(storeUnreachable());
    const call = ++this.#lastNumber;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { since: performance.now(), resolve, reject, isOverdue: false, undo });
      this.#outbox.send(request(call));
    });
  }

  #handleReply(answer: StoreReply): void {
    switch (answer.say) {
      case 'value': {
        const pending = this.#settle(answer.call);
        pending?.resolve(answer.value);
        if (pending?.isOverdue) pending.undo?.(answer.value);
        return;
      }
      case 'error':
        this.#settle(answer.call)?.reject(fromWireError(answer.error));
        return;
      case 'batch':
        this.#subscriptions.get(answer.subscription)?.onBatch(answer.batch);
        return;
      case 'gap':
        this.#subscriptions.get(answer.subscription)?.onGap();
        return;
      case 'change':
        this.changes.emit(answer.change);
    }
  }

  #settle(call: number): Pending | undefined {
    const pending = this.#pending.get(call);
    this.#pending.delete(call);
    return pending;
  }

  /** Calls are in order of time, so the first one that is not overdue ends the search. */
  #rejectOverdue(): void {
    const oldest = performance.now() - this.#answerMs;
    for (const pending of this.#pending.values()) {
      if (pending.since > oldest) return;
      pending.isOverdue = true;
      pending.reject(storeUnreachable());
    }
  }

  #onClose(): void {
    clearInterval(this.#overdueTimer);
    for (const { reject } of this.#pending.values()) reject(storeUnreachable());
    this.#pending.clear();
    if (!this.#closing) this.listeners.emitGapToAll();
  }
}

function storeUnreachable(): GatewayError {
  return new GatewayError('store_unavailable', 'The store cannot be reached.', { retryAfterMs: 1000 });
}
