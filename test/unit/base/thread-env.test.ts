import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const THREAD_ENV = new URL('../../../src/base/load/thread-env.ts', import.meta.url);
/** Prints where a process and a thread of it keep compiled code. */
const SCRIPT = `
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
const [, folder] = process.argv;
if (folder) enableCompileCache(folder);
const { threadEnv } = await import('${THREAD_ENV}');
const said = "import { parentPort } from 'node:worker_threads'; import { getCompileCacheDir } from 'node:module'; parentPort.postMessage(getCompileCacheDir() ?? null)";
new Worker(said, { eval: true, env: threadEnv() }).on('message', (of) => console.log(JSON.stringify([getCompileCacheDir() ?? null, of])));
`;

describe('threads', () => {
  it('keep compiled code where their process does', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thread-env-'));
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    try {
      const run = async (...args: string[]) => {
        const node = ['--input-type=module', '--eval', SCRIPT, ...args];
        const [own, ofThread] = JSON.parse((await promisify(execFile)(process.execPath, node, { env })).stdout);
        assert.equal(ofThread, own);
        return own;
      };
      assert.ok((await run(folder)).startsWith(folder));
      assert.equal(await run(), null);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
