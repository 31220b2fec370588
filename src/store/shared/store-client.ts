import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import {
  type Budget,
  type Counter,
  type CounterWindow,
  type LimitHolder,
  type LimitNote,
  type LimitRelease,
  type LimitRequest,
  type LimitResult,
  type LimitStore,
  releaseOf,
  type Slots,
} from '../limits.ts';
import { ChangeListeners, type LogHandlers, LogListeners, type RunChange } from '../listeners.ts';
import type { Append, AppendResult, NewRun, RunStore } from '../run-store.ts';
import { checkAppend } from '../run-store-checks.ts';
import type { StoreMethod } from './wire.ts';
import { fromWireError, Outbox, type Question, readMessages, type StoreReply, type Structured } from './wire.ts';

/** How long an answer may take, in milliseconds: the process that holds the store is on this machine. */
const ANSWER_MS = 10_000;
/** How often answers that are late are looked for, in milliseconds. */
const CHECK_MS = 1000;

interface Pending {
  since: number;
  resolve(value: Structured): void;
  reject(reason: Error): void;
  /** Given a value that came only after the call had failed as late. */
  undo: ((value: Structured) => void) | undefined;
}

/** What a worker has in the place of a store of its own. */
export interface SharedStore {
  runs: RunStore;
  limits: LimitStore;
  /** Resolves when the connection has ended, by `runs.close` or because the process that holds the store is gone. */
  closed: Promise<void>;
}

/**
 * Connects to the process of this gateway that holds the store. A call fails with `store_unavailable` where its answer
 * takes longer than `answerMs`, up to a second later.
 * @throws the system's own error where nobody listens at `path`.
 */
export async function connectStore(path: string, { answerMs = ANSWER_MS } = {}): Promise<SharedStore> {
  const socket = createConnection(path);
  await once(socket, 'connect');
  const link = new StoreLink(socket, answerMs);
  const limits: LimitStore = {
    counter: (options) => link.counter(options),
    slots: (options) => link.slots(options),
    budget: (window) => link.budget(window),
    take: (...args) => link.takeLimits(...args),
    giveBack: (...args) => link.giveLimitsBack(...args),
    note: (notes) => link.noteLimits(notes),
  };
  return { runs: new SharedRunStore(link), limits, closed: link.closed };
}

/** Calls and answers over one connection. */
class StoreLink {
  readonly listeners = new LogListeners();
  readonly changes = new ChangeListeners();
  readonly closed: Promise<void>;
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
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#lose();
        resolve();
      });
    });
    this.#check = setInterval(() => this.#rejectLate(), CHECK_MS);
    this.#check.unref();
  }

  call<M extends StoreMethod>(method: M, ...args: Parameters<RunStore[M]>): Promise<Awaited<ReturnType<RunStore[M]>>> {
    return this.#ask((call) => ({ ask: 'store', call, method, args }));
  }

  counter({ name, windowSeconds }: CounterWindow): Counter {
    const ask = (method: keyof Counter, args: readonly unknown[]) =>
      this.#ask((call) => ({ ask: 'counter', call, name, windowSeconds, method, args }));
    return {
      take: (...args) => ask('take', args),
      giveBack: (...args) => ask('giveBack', args),
    };
  }

  takeLimits(holder: LimitHolder, requests: readonly LimitRequest[]): Promise<LimitResult[]> {
    // Nobody else knows the holder: what is taken once this has failed would be taken for good.
    const undo = (results: LimitResult[]) => {
      const releases = results.every(({ granted }) => granted) ? requests.map(releaseOf) : [];
      if (releases.length > 0) this.giveLimitsBack(holder, releases).catch(() => {});
    };
    return this.#ask((call) => ({ ask: 'takeLimits', call, holder, requests }), undo);
  }

  giveLimitsBack(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean> {
    return this.#ask((call) => ({ ask: 'giveLimitsBack', call, holder, releases }));
  }

  noteLimits(notes: readonly LimitNote[]): Promise<void> {
    return this.#ask((call) => ({ ask: 'noteLimits', call, notes }));
  }

  budget({ name, windowSeconds }: CounterWindow): Budget {
    const ask = (method: keyof Budget, args: readonly unknown[]) =>
      this.#ask((call) => ({ ask: 'budget', call, name, windowSeconds, method, args }));
    return {
      reserve: (...args) => ask('reserve', args),
      note: (...args) => ask('note', args),
      settle: (...args) => ask('settle', args),
      used: (...args) => ask('used', args),
    };
  }

  slots({ name }: { name: string }): Slots {
    const ask = (method: keyof Slots, args: readonly unknown[]) =>
      this.#ask((call) => ({ ask: 'slots', call, name, method, args }));
    return {
      take: (...args) => ask('take', args),
      release: (...args) => ask('release', args),
      count: (...args) => ask('count', args),
      holders: (...args) => ask('holders', args),
    };
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
    await this.closed;
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
        this.changes.emit(answer.change);
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

/** The run store of a worker: the one that another process of this gateway holds. */
class SharedRunStore implements RunStore {
  readonly #link: StoreLink;

  constructor(link: StoreLink) {
    this.#link = link;
  }

  readonly create = (run: NewRun) => this.#link.call('create', run);
  readonly findKey: RunStore['findKey'] = (...args) => this.#link.call('findKey', ...args);
  readonly get: RunStore['get'] = (...args) => this.#link.call('get', ...args);
  readonly list: RunStore['list'] = (...args) => this.#link.call('list', ...args);
  readonly countOpen: RunStore['countOpen'] = () => this.#link.call('countOpen');
  readonly countQueued: RunStore['countQueued'] = (...args) => this.#link.call('countQueued', ...args);
  readonly claimNext: RunStore['claimNext'] = (...args) => this.#link.call('claimNext', ...args);
  readonly claim: RunStore['claim'] = (...args) => this.#link.call('claim', ...args);
  readonly claimable: RunStore['claimable'] = (...args) => this.#link.call('claimable', ...args);
  readonly renew: RunStore['renew'] = (...args) => this.#link.call('renew', ...args);
  readonly release: RunStore['release'] = (...args) => this.#link.call('release', ...args);
  readonly read: RunStore['read'] = (...args) => this.#link.call('read', ...args);
  readonly readLast: RunStore['readLast'] = (...args) => this.#link.call('readLast', ...args);
  readonly readTranscript: RunStore['readTranscript'] = (...args) => this.#link.call('readTranscript', ...args);
  readonly requestCancel: RunStore['requestCancel'] = (...args) => this.#link.call('requestCancel', ...args);
  readonly delete: RunStore['delete'] = (...args) => this.#link.call('delete', ...args);
  readonly removeExpired: RunStore['removeExpired'] = (...args) => this.#link.call('removeExpired', ...args);
  readonly compressEnded: RunStore['compressEnded'] = (...args) => this.#link.call('compressEnded', ...args);

  /** What this worker appended reaches its own readers without another way through the socket. */
  async append(id: RunId, batch: Append): Promise<AppendResult> {
    checkAppend(batch);
    const appended = await this.#link.call('append', id, batch);
    if (appended.result === 'ok' && batch.count > 0) {
      const { first, count, frames } = batch;
      this.#link.listeners.batch(id, { first, last: first + count - 1, frames, end: batch.end !== undefined });
    }
    return appended;
  }

  subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    return this.#link.subscribe(id, handlers);
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#link.changes.add(listener);
  }

  async check(): ReturnType<RunStore['check']> {
    try {
      return await this.#link.call('check');
    } catch {
      return { ok: false, reason: 'the process that holds the store cannot be reached' };
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
