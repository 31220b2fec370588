import assert from 'node:assert/strict';
import { once } from 'node:events';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { COMPILE_CACHE_FOLDER, workerThreadEnv } from '../../../src/base/compile-cache.ts';

const SAYS =
  "require('node:worker_threads').parentPort.postMessage([require('node:module').getCompileCacheDir(), process.env])";

describe('workerThreadEnv', () => {
  it('passes the compile cache folder and nothing else', async () => {
    enableCompileCache(COMPILE_CACHE_FOLDER);
    const thread = new Worker(SAYS, { eval: true, env: workerThreadEnv() });
    const [[folder, variables]] = await once(thread, 'message');
    // Below it, the runtime has a folder for each set of flags: those of this process may have been set by another test.
    assert.ok(folder);
    assert.equal(dirname(folder), dirname(getCompileCacheDir() ?? ''));
    assert.deepEqual(Object.keys(variables), ['NODE_COMPILE_CACHE']);
  });
});
