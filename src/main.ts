import './older-node.ts';
import { enableCompileCache } from 'node:module';
import { COMPILE_CACHE } from './base/compile-cache.ts';
import type { RunningGateway } from './cli/running-gateway.ts';

/**
 * The command line's entry, started by `research-gateway.js` on a Node that can run it. It starts nothing itself;
 * `server.ts` is the composition root, loaded only by the commands that run a gateway.
 */

/** How long a process may go on for what a closed gateway left open, in milliseconds. */
const EXIT_MS = 1000;

enableCompileCache(COMPILE_CACHE);
const [{ runCommandLine }, { processTerminal }, { readEnvironment }, { fileURLToPath }, { default: project }] =
  await Promise.all([
    import('./cli/command-line.ts'),
    import('./cli/terminal.ts'),
    import('./config/environment.ts'),
    import('node:url'),
    import('../package.json', { with: { type: 'json' } }),
  ]);
const environment = readEnvironment();
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment,
  terminal: processTerminal({ plain: environment.plain }),
  startGateway: async ({ file, workers = 1, ...options }) => {
    if (workers === 1 || file === undefined)
      return exitsWhenClosed(await (await import('./server.ts')).startGateway(options));
    return exitsWhenClosed(await (await import('./workers/workers.ts')).startWorkers({ ...options, file, workers }));
  },
  projectRoot: fileURLToPath(new URL('..', import.meta.url)),
  version: project.version,
});

/** A store that does not answer keeps its connection, and with it the process, which was told to stop. */
function exitsWhenClosed<Started extends RunningGateway>(gateway: Started): Started {
  const close = async () => {
    await gateway.close();
    setTimeout(() => process.exit(), EXIT_MS).unref();
  };
  return { ...gateway, close };
}
