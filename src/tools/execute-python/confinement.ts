import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { childrenNode } from '../../base/confined/children-node.ts';
import { type Confinement, waysToConfine } from '../../base/confined/confinement.ts';
import { PROGRAMS, pyodideFolder } from './command.ts';

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
  const script = 'test -r "$1" && test -r "$2" && test -x "$3"';
  const probe = ['/bin/sh', '-c', script, 'sh', PROGRAMS.main, `${pyodideFolder()}/package.json`, childrenNode()];
  return await run(file, [...args, ...probe], { timeout: TRY_MS, env: {}, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
