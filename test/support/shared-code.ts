import { flushCompileCache } from 'node:module';

/** Flushes the compile cache before the tests and not at the end, because other workers and their children need it too. */
export const mochaHooks = { beforeAll: () => flushCompileCache() };
