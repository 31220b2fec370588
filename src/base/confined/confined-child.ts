import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lowerPriority } from '../load/priority.ts';
import { childrenNode } from './children-node.ts';
import { waysToConfine } from './confinement.ts';

export interface ConfinedChildOptions {
  /** Packages that the child imports; those that they import themselves lie in the same `node_modules`. */
  packages: readonly string[];
  /** The JavaScript heap, in MiB. */
  heapMb: number;
  /** Whether it stands back behind what somebody waits for. */
  inBackground?: boolean;
}

/** Processor seconds after which the kernel ends a child, should the gateway die while it is stuck. */
const CPU_SECONDS = 300;

/** By default V8 lets young objects take 100 MB more; a child needs no less processor time with them. */
const YOUNG_MB = 4;

/** Threads beside the one that works, for the compiler and the cleaning of memory: the usual four take 8 MB more, for 5 % less time. */
const HELPERS = 1;

/**
 * A Node process that may read its own code and nothing else: no network, no other files, no child processes, no
 * environment; where Linux allows it also no privileges, and another user or namespaces of its own. It talks over an IPC channel; `advanced` serialisation carries bytes as they are. For work whose cost is
 * chosen by a client, a page or a provider: whoever starts it limits its time and memory.
 */
export function spawnConfinedChild(entry: URL, options: ConfinedChildOptions): ChildProcess {
  const { packages, heapMb, inBackground = false } = options;
  const node = childrenNode();
  const nodeArgs = [
    '--permission',
    ...readablePaths(packages).map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${heapMb}`,
    `--max-semi-space-size=${YOUNG_MB}`,
    `--v8-pool-size=${HELPERS}`,
    '--no-warnings',
    fileURLToPath(entry),
  ];
  const [command, args] =
    process.platform === 'win32'
      ? [node, nodeArgs]
      : ['/bin/sh', ['-c', startingScript(fileURLToPath(entry)), node, ...nodeArgs]];
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
  const child = spawn(command, args, { stdio: [...stdio], serialization: 'advanced', env: {} });
  if (inBackground && child.pid !== undefined) lowerPriority(child.pid);
  return child;
}

/**
 * The strongest of what the system allows is found by trying, in the shell that starts the child: whether Node and the
 * entry can be read under it. All ways replace themselves by the program, so that its process id is the one of the shell.
 */
function startingScript(entry: string): string {
  const quoted = `'${entry.replaceAll("'", "'\\''")}'`;
  const tries = waysToConfine().map(({ command }) => {
    const way = command.join(' ');
    return `if ${way} /bin/sh -c 'test -x "$0" && test -r "$1"' "$0" ${quoted} 2>/dev/null; then exec ${way} "$0" "$@"; fi`;
  });
  return [`ulimit -t ${CPU_SECONDS}`, ...tries, 'exec "$0" "$@"'].join('\n');
}

/** The source tree and the `node_modules` folders in which the packages lie, or links to them: the resolver reads both. */
function readablePaths(packages: readonly string[]): string[] {
  const require = createRequire(import.meta.url);
  const libraries = packages.flatMap((name) => {
    const path = require.resolve(name);
    const mark = `${sep}node_modules${sep}`;
    const linked = require.resolve.paths(name)?.find((folder) => existsSync(join(folder, name)));
    return [path.slice(0, path.lastIndexOf(mark) + mark.length), ...(linked === undefined ? [] : [`${linked}${sep}`])];
  });
  const source = fileURLToPath(new URL('../../', import.meta.url));
  const project = fileURLToPath(new URL('../../../package.json', import.meta.url));
  return [...new Set([source, project, ...libraries])];
}
