import { messageOf } from '../../base/errors.ts';
import { createLogger } from '../../base/logger.ts';
import type { Environment } from '../../config/environment.ts';
import { backUpStore, checkStore, restoreStore, verifyStore } from '../../store/maintenance.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadOrExplain } from '../serve.ts';
import type { Terminal } from '../terminal.ts';

interface Parts {
  environment: Environment;
  terminal: Terminal;
}

/** `store check`: checks the configured store for damage. */
export async function checkStoreCommand(options: { config?: string }, parts: Parts): Promise<ExitCode> {
  return await withStore(options, parts, async (store) => {
    const log = createLogger({ level: 'warn', destination: { write: parts.terminal.err } });
    return printFindings(await checkStore(store, { log }), parts.terminal);
  });
}

/** `store verify`: checks a backup or a store folder for damage, whatever is configured. */
export async function verifyStoreCommand({ path }: { path: string }, { terminal }: Parts): Promise<ExitCode> {
  return await orFail(terminal, async () => printFindings(await verifyStore(path), terminal));
}

function printFindings({ summary, problems }: Awaited<ReturnType<typeof verifyStore>>, terminal: Terminal): ExitCode {
  terminal.out(`${summary}\n`);
  for (const problem of problems) terminal.err(`${problem}\n`);
  terminal.out(problems.length === 0 ? 'Everything is in order.\n' : 'The store is damaged.\n');
  return problems.length === 0 ? EXIT.completed : EXIT.failed;
}

/** `store restore`: puts a backup in the place of the configured store. */
export async function restoreStoreCommand(
  options: { config?: string; path: string; force?: boolean },
  parts: Parts,
): Promise<ExitCode> {
  return await withStore(options, parts, async (store) => {
    const { summary, problems, kept } = await restoreStore(store, options.path, { force: options.force ?? false });
    for (const problem of problems) parts.terminal.err(`${problem}\n`);
    parts.terminal.out(`${options.path} is in place: ${summary}.\n`);
    if (kept !== undefined) parts.terminal.out(`What was there is kept as ${kept}.\n`);
    return EXIT.completed;
  });
}

/** `store backup`: writes a copy of the configured store. */
export async function backUpStoreCommand(options: { config?: string; file: string }, parts: Parts): Promise<ExitCode> {
  return await withStore(options, parts, async (store) => {
    await backUpStore(store, options.file);
    parts.terminal.out(`The store was copied to ${options.file}. \`store restore\` puts it back.\n`);
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
  return await orFail(terminal, () => work(loaded.config.store));
}

async function orFail(terminal: Terminal, work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work();
  } catch (thrown) {
    terminal.err(`${messageOf(thrown)}\n`);
    return EXIT.failed;
  }
}
