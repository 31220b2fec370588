import { GatewayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { openStorage } from '../../src/store/open.ts';
import type { AppendBatch, AppendResult, RunStore } from '../../src/store/run-store.ts';
import { testConfig } from './run-harness.ts';

/** Opens a storage and returns only its run store, whose `close` closes everything. */
export async function openStore(...args: Parameters<typeof openStorage>): Promise<RunStore> {
  return (await openStorage(...args)).runs;
}

/** A real store in memory. */
export async function memoryStore(): Promise<RunStore> {
  return await openStore(testConfig().store, { log: silentLogger });
}

/** `store` with some methods replaced. */
export function wrapStore(store: RunStore, replaced: Partial<RunStore>): RunStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(replaced, name);
      if (own !== undefined) return own;
      const method: unknown = Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}

/** The fate of an append: done and acknowledged, refused before it is done, or done without an acknowledgement. */
export type Fate = 'done' | 'refused' | 'unanswered';

export interface FaultyStore {
  store: RunStore;
  /** Every append that was tried, in order, with what became of it. */
  tries: { batch: AppendBatch; fate: Fate }[];
}

/** A store that lets `decide` choose the fate of its `n`th append. */
export function faultyStore(inner: RunStore, decide: (batch: AppendBatch, n: number) => Fate): FaultyStore {
  const tries: FaultyStore['tries'] = [];
  const append = async (id: string, batch: AppendBatch): Promise<AppendResult> => {
    const fate = decide(batch, tries.length);
    tries.push({ batch, fate });
    if (fate === 'refused') throw unavailable();
    const result = await inner.append(id, batch);
    if (fate === 'unanswered') throw unavailable();
    return result;
  };
  return { store: wrapStore(inner, { append }), tries };
}

function unavailable(): GatewayError {
  return new GatewayError('store_unavailable', 'The store is away.', { retryAfterMs: 1000 });
}
