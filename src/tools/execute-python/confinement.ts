import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childrenNode } from '../../base/confined/children-node.ts';
import { type Confinement, waysToConfine } from '../../base/confined/confinement.ts';

const run = promisify(execFile);

/** Time for one try, in milliseconds. What is found holds for as long as the gateway runs: a busy machine is waited for. */
const TRY_MS = 30_000;

/** The strongest confinement of the Python sandbox that this system allows, found by trying. Never rejects. */
export async function findConfinement(): Promise<Confinement> {
  for (const way of waysToConfine()) if (await works(way.command)) return way;
  return { command: [], holds: [] };
}

/** Whether a confined process can start this Node and read the sandbox and Pyodide, as a real one has to. */
async function works([file = '', ...args]: readonly string[]): Promise<boolean> {
  const sandbox = fileURLToPath(new URL('./sandbox/main.ts', import.meta.url));
  const pyodide = `${dirname(createRequire(import.meta.url).resolve('pyodide/package.json'))}/package.json`;
  const script = 'test -r "$1" && test -r "$2" && test -x "$3"';
  const probe = ['/bin/sh', '-c', script, 'sh', sandbox, pyodide, childrenNode()];
  return await run(file, [...args, ...probe], { timeout: TRY_MS, env: {}, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
