import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What the system takes from a sandbox process before it starts, besides what Node itself refuses it. */
export interface Confinement {
  /** The start of its command line; empty where the system takes nothing. */
  command: readonly string[];
  /** In words, for people; empty where nothing holds. */
  holds: readonly string[];
}

const run = promisify(execFile);

/** Time for one try, in milliseconds. */
const TRY_MS = 3000;

/** Tools of util-linux, where distributions keep them. */
const UNSHARE = '/usr/bin/unshare';
const SETPRIV = '/usr/bin/setpriv';

/** The user `nobody` of every Linux distribution. */
const NOBODY = '65534';

const NAMESPACES = ['--net', '--ipc', '--uts'];
const NO_PRIVILEGES = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
const HOLDS_NAMESPACES = ['its own network without any interface', 'its own IPC and host name'];
const HOLDS_PRIVILEGES = ['no capabilities', 'no new privileges'];

/** Strongest first. All replace themselves by the program, so that its process id is the one that was started. */
const WAYS: readonly (Confinement & { forRoot: boolean })[] = [
  {
    forRoot: true,
    command: [
      ...[UNSHARE, ...NAMESPACES, '--'],
      ...[SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...NO_PRIVILEGES, '--'],
    ],
    holds: ['the user nobody', ...HOLDS_NAMESPACES, ...HOLDS_PRIVILEGES],
  },
  {
    forRoot: false,
    command: [UNSHARE, '--user', '--map-current-user', ...NAMESPACES, '--', SETPRIV, ...NO_PRIVILEGES, '--'],
    holds: ['its own user namespace', ...HOLDS_NAMESPACES, ...HOLDS_PRIVILEGES],
  },
  {
    forRoot: true,
    command: [...[SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...NO_PRIVILEGES, '--']],
    holds: ['the user nobody', ...HOLDS_PRIVILEGES],
  },
  { forRoot: false, command: [SETPRIV, '--no-new-privs', '--'], holds: ['no new privileges'] },
];

/**
 * The strongest confinement that this system allows, found by trying: containers and kernels forbid namespaces, `nobody`
 * may not read the program, and the tools (util-linux) may be missing. Never rejects.
 */
export async function findConfinement(): Promise<Confinement> {
  if (process.platform !== 'linux') return { command: [], holds: [] };
  const isRoot = process.getuid?.() === 0;
  for (const { command, holds, forRoot } of WAYS) {
    if (forRoot && !isRoot) continue;
    if (await works(command)) return { command, holds };
  }
  return { command: [], holds: [] };
}

/** Whether a confined process can start this Node and read the sandbox and Pyodide, as a real one has to. */
async function works([file = '', ...args]: readonly string[]): Promise<boolean> {
  const sandbox = fileURLToPath(new URL('./sandbox/main.ts', import.meta.url));
  const pyodide = `${dirname(createRequire(import.meta.url).resolve('pyodide/package.json'))}/package.json`;
  const script = 'test -r "$1" && test -r "$2" && test -x "$3"';
  const probe = ['/bin/sh', '-c', script, 'sh', sandbox, pyodide, process.execPath];
  return await run(file, [...args, ...probe], { timeout: TRY_MS, env: {}, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
