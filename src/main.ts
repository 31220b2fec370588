import { enableCompileCache } from 'node:module';
import { COMPILE_CACHE } from './compile-cache.ts';

/**
 * The command line's entry. It starts nothing itself; `server.ts` is the composition root, loaded only by the
 * commands that run a gateway.
 */
const MINIMUM = 26;

if (Number.parseInt(process.versions.node, 10) < MINIMUM) {
  process.stderr.write(
    `research-gateway needs Node ${MINIMUM} or newer, this is ${process.version}. Start it through npm, which brings ` +
      'the right one along: npm start, npm run demo, npm run ask -- "question"\n',
  );
  process.exitCode = 2;
} else {
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
      if (workers === 1 || file === undefined) return (await import('./server.ts')).startGateway(options);
      return (await import('./workers.ts')).startWorkers({ ...options, file, workers });
    },
    projectRoot: fileURLToPath(new URL('..', import.meta.url)),
    version: project.version,
  });
}
