import './base/node/polyfills.ts';
import { enableCompileCache } from 'node:module';
import { COMPILE_CACHE_FOLDER } from './base/compile-cache.ts';
import type { RunningGateway } from './cli/running-gateway.ts';

/**
 * The command line's entry, started by `research-gateway.js` on a Node that can run it. It starts nothing itself;
 * `server.ts` is the composition root, loaded only by the commands that run a gateway.
 */

/** How long the process may stay alive after its gateway closed, for what that left open, in milliseconds. */
const EXIT_MS = 1000;

enableCompileCache(COMPILE_CACHE_FOLDER);
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
      return exitWhenClosed(await (await import('./server.ts')).startGateway(options));
    return exitWhenClosed(await (await import('./workers/workers.ts')).startWorkers({ ...options, file, workers }));
  },
  projectRoot: fileURLToPath(new URL('..', import.meta.url)),
  version: project.version,
});

/** Makes the process exit after the gateway closed, even if the connection to an unresponsive store stays open. */
function exitWhenClosed<Started extends RunningGateway>(gateway: Started): Started {
  const close = async () => {
    await gateway.close();
    setTimeout(() => process.exit(), EXIT_MS).unref();
  };
  return { ...gateway, close };
}
