import { flushCompileCache } from 'node:module';
import { gatewayFolder, startGatewayProcess } from './gateway-process.ts';
import { BETWEEN_TESTS_MS, patience } from './time-limit.ts';

/**
 * Keeps compiled code for all processes of a test run. Node writes a file's code once, with the functions that had run by
 * then, so what only loaded files leaves little: a start with such a cache takes a quarter more CPU time.
 */

/** Before a whole run: a gateway that started and stopped leaves what all later ones need. */
export async function mochaGlobalSetup(): Promise<void> {
  if (!process.argv.includes('--parallel')) return;
  await using folder = await gatewayFolder();
  const config = {
    server: { port: 0 },
    store: { url: `file:${folder.path}/data` },
    providers: { demo: { builtin: 'demo' } },
    models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
    keys: [{ id: 'ann', secret: 'sk-of-the-first-start' }],
  };
  const gateway = await startGatewayProcess(config, { folder: folder.path });
  await gateway.terminate();
}

export const mochaHooks = {
  /** The limit of .mocharc.cjs was set when the run began, and the machine may have become slower. */
  beforeEach(this: Mocha.Context) {
    const limit = patience(10, BETWEEN_TESTS_MS);
    const test = this.currentTest;
    if (test && test.timeout() > 0) test.timeout(Math.max(test.timeout(), limit));
  },
  /** After each file, because workers of a parallel run are ended without writing their compiled code. */
  afterAll: () => flushCompileCache(),
};
