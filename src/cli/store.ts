import { messageOf } from '../base/errors.ts';
import { createLogger } from '../base/logger.ts';
import type { Environment } from '../config/environment.ts';
import { backUpStore, checkStore } from '../store/maintenance.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { loadOrExplain } from './serve.ts';
import type { Terminal } from './terminal.ts';

interface Parts {
  environment: Environment;
  terminal: Terminal;
}

/** `store check`: looks through the configured store and says what is wrong. */
export async function checkStoreCommand(options: { config?: string }, parts: Parts): Promise<ExitCode> {
  return await withStore(options, parts, async (store) => {
    const log = createLogger({ level: 'warn', destination: { write: parts.terminal.err } });
    const { summary, problems } = await checkStore(store, { log });
    parts.terminal.out(`${summary}\n`);
    for (const problem of problems) parts.terminal.err(`${problem}\n`);
    parts.terminal.out(problems.length === 0 ? 'Everything is in order.\n' : 'The store is damaged.\n');
    return problems.length === 0 ? EXIT.completed : EXIT.failed;
  });
}

/** `store backup`: writes a copy of the configured store. */
export async function backUpStoreCommand(options: { config?: string; file: string }, parts: Parts): Promise<ExitCode> {
  return await withStore(options, parts, async (store) => {
    await backUpStore(store, options.file);
    parts.terminal.out(
      `The store was copied to ${options.file}. To restore it, stop the gateway and put it in the place of runs.db.\n`,
    );
    return EXIT.completed;
  });
}

async function withStore(
  options: { config?: string },
  { environment, terminal }: Parts,
  work: (store: NonNullable<Awaited<ReturnType<typeof loadOrExplain>>>['config']['store']) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await loadOrExplain({ environment, file: options.config }, terminal);
  if (!loaded) return EXIT.usage;
  try {
    return await work(loaded.config.store);
  } catch (thrown) {
    terminal.err(`${messageOf(thrown)}\n`);
    return EXIT.failed;
  }
}
