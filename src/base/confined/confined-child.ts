import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lowerPriority } from '../load/priority.ts';
import { confinedNodePath } from './children-node.ts';
import { possibleConfinements } from './confinement.ts';

export interface ConfinedChildOptions {
  /** Packages that the child imports. Their own dependencies lie in the same `node_modules`. */
  packages: readonly string[];
  /** Limit of the JavaScript heap, in MiB. */
  heapMb: number;
  /** Whether it runs at a lower priority than work that somebody waits for. */
  inBackground?: boolean;
}

/** CPU seconds after which the kernel kills a child, in case the gateway dies while the child is stuck. */
const MAX_CPU_SECONDS = 300;

/** V8's default for young objects costs 100 MB more and saves a child no CPU time. */
const SEMI_SPACE_MB = 4;

/** V8's threads for compiling and garbage collection: the usual four cost 8 MB more and save 5 % of the time. */
const V8_POOL_SIZE = 1;

/**
 * Starts a Node process that may read its own code and nothing else: no network, no other files, no child processes, no
 * environment; where Linux allows it, also no privileges, and another user or namespaces of its own. It talks over an
 * IPC channel, whose `advanced` serialisation carries bytes unchanged. It is for work whose cost a client, a page or a
 * provider chooses: the caller limits its time and memory.
 */
export function spawnConfinedChild(entry: URL, options: ConfinedChildOptions): ChildProcess {
  const { packages, heapMb, inBackground = false } = options;
  const node = confinedNodePath();
  const nodeArgs = [
    '--permission',
    ...readablePaths(packages).map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${heapMb}`,
    `--max-semi-space-size=${SEMI_SPACE_MB}`,
    `--v8-pool-size=${V8_POOL_SIZE}`,
    '--no-warnings',
    fileURLToPath(entry),
  ];
  const [command, args] =
    process.platform === 'win32'
      ? [node, nodeArgs]
      : ['/bin/sh', ['-c', startingScript(fileURLToPath(entry)), node, ...nodeArgs]];
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
  // In a session of its own: Ctrl-C stops the gateway in order, and must not break the work that it waits for.
  const detached = process.platform !== 'win32';
  const child = spawn(command, args, { stdio: [...stdio], serialization: 'advanced', env: {}, detached });
  if (inBackground && child.pid !== undefined) lowerPriority(child.pid);
  return child;
}

/**
 * The shell that starts the child tries each confinement, strongest first, and takes the first under which Node and the
 * entry are readable. Every step uses `exec`, so that the child keeps the process id of the shell.
 */
function startingScript(entry: string): string {
  const quoted = `'${entry.replaceAll("'", "'\\''")}'`;
  const tries = possibleConfinements().map(({ command }) => {
    const prefix = command.join(' ');
    return `if ${prefix} /bin/sh -c 'test -x "$0" && test -r "$1"' "$0" ${quoted} 2>/dev/null; then exec ${prefix} "$0" "$@"; fi`;
  });
  return [`ulimit -t ${MAX_CPU_SECONDS}`, ...tries, 'exec "$0" "$@"'].join('\n');
}

/** The source tree, and the `node_modules` folders that hold the packages or links to them: the resolver reads both. */
function readablePaths(packages: readonly string[]): string[] {
  const require = createRequire(import.meta.url);
  const libraries = packages.flatMap((name) => {
    const path = require.resolve(name);
    const modules = `${sep}node_modules${sep}`;
    const linked = require.resolve.paths(name)?.find((folder) => existsSync(join(folder, name)));
    const folder = path.slice(0, path.lastIndexOf(modules) + modules.length);
    return linked === undefined ? [folder] : [folder, `${linked}${sep}`];
  });
  const source = fileURLToPath(new URL('../../', import.meta.url));
  const project = fileURLToPath(new URL('../../../package.json', import.meta.url));
  return [...new Set([source, project, ...libraries])];
}
