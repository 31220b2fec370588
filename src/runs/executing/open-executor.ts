import type { LiveConfig } from '../../config/live-config.ts';
import type { Storage } from '../../store/open.ts';
import type { LoadMeter } from '../load-meter.ts';
import type { Executor } from './executor.ts';
import type { ExecutorOptions } from './executor-options.ts';
import { LocalExecutor } from './local-executor.ts';

/** Opens the executor for the store: with an embedded store each process asks for runs; over Redis a queue assigns them. */
export async function openExecutor(
  { live, storage, load }: { live: LiveConfig; storage: Pick<Storage, 'openQueue'>; load: LoadMeter },
  common: Omit<ExecutorOptions, 'load' | 'maxConcurrent' | 'mayRun'>,
  stack: AsyncDisposableStack,
): Promise<Executor> {
  const options: ExecutorOptions = {
    ...common,
    load,
    maxConcurrent: live.current().runs.max_concurrent,
    showsContents: live.current().telemetry.contents,
    mayRun: ({ keyId }) => live.current().runs.keys_removed === 'keep' || live.keyById(keyId) !== undefined,
  };
  let executor: Executor;
  if (storage.openQueue) {
    const connection = stack.use(await storage.openQueue());
    // Loaded only when needed: it takes a tenth of a second.
    const { QueueExecutor } = await import('./queue-executor.ts');
    executor = new QueueExecutor({ ...options, connection });
  } else executor = new LocalExecutor(options);
  stack.defer(() => executor.stop({ graceMs: 0 }));
  return executor;
}
