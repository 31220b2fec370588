import { flushCompileCache } from 'node:module';

/** What this process has compiled is kept at once, not when it ends: the other workers and what they start need it too. */
export const mochaHooks = { beforeAll: () => flushCompileCache() };
