import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { confinedNodePath } from '../../base/confined/children-node.ts';
import { type Confinement, possibleConfinements } from '../../base/confined/confinement.ts';
import { PROGRAMS, pyodideFolder } from './command.ts';

const run = promisify(execFile);

/** The time limit of one try, in milliseconds. It is long enough for a busy machine, because the result is kept for good. */
const TRY_MS = 30_000;

/** Why a process could not be started that can be started later: too many files or processes, or no memory. */
const TEMPORARY: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);

/**
 * Finds the strongest confinement of the Python sandbox that this system allows by trying each.
 * @throws Error if no process can be started now, which says nothing about a confinement.
 */
export async function findConfinement(): Promise<Confinement> {
  for (const way of possibleConfinements()) if (await works(way.command)) return way;
  return { command: [], restrictions: [] };
}

/** Whether a confined process can start this Node and read the sandbox and Pyodide, as a sandbox has to. */
async function works([file = '', ...args]: readonly string[]): Promise<boolean> {
  const script = 'test -r "$1" && test -r "$2" && test -x "$3"';
  const probe = ['/bin/sh', '-c', script, 'sh', PROGRAMS.main, `${pyodideFolder()}/package.json`, confinedNodePath()];
  return await run(file, [...args, ...probe], { timeout: TRY_MS, env: {}, cwd: '/' }).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => {
      if (TEMPORARY.has(thrown.code)) throw thrown;
      return false;
    },
  );
}
