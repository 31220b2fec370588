import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { confinedNodePath } from '../../base/confined/children-node.ts';
import type { Confinement } from '../../base/confined/confinement.ts';

/** The command that starts a sandbox process. */
export interface SandboxCommand {
  file: string;
  args: string[];
}

/** The programs of the sandbox folder. */
export const PROGRAMS = {
  main: fileURLToPath(new URL('./sandbox/main.ts', import.meta.url)),
  'make-snapshot': fileURLToPath(new URL('./sandbox/make-snapshot.ts', import.meta.url)),
};
export type SandboxProgram = keyof typeof PROGRAMS;

export function pyodideFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('pyodide/package.json'));
}

export interface SandboxBounds {
  /** The memory limit of Python, in MiB. */
  memoryMb: number;
  /** CPU seconds after which the system kills the process, even if the gateway is gone. */
  cpuSeconds: number;
  /** Whether the process starts from the memory snapshot in descriptor `SNAPSHOT_FD`. */
  fromSnapshot?: boolean;
  /** How the system confines the process; undefined: not at all. */
  confinement?: Confinement | undefined;
}

/** WebAssembly memory comes in pages of 64 KiB. */
const PAGES_PER_MB = 16;
/** The most pages that 32-bit WebAssembly can address. */
const MAX_PAGES = 65_536;
/** For Pyodide's own objects. Files that Python writes are outside this heap; the memory limit of the process counts them. */
const JAVASCRIPT_HEAP_MB = 192;

const SHELL = '/bin/sh';

/**
 * The outer layers of the sandbox, in the order in which code meets them:
 * - Node's permission model: reads only Pyodide and the sandbox folder; no writes, network, processes, workers, addons,
 *   WASI or inspector. `node:sqlite` opens files past it (seen with Node 26), so it is off altogether.
 * - no code generation from strings: Python cannot turn a string into a JavaScript program;
 * - a limit on WebAssembly memory, which Python sees as `MemoryError`;
 * - if Linux allows it: another user, namespaces without a network, no privileges (see `confinement.ts`);
 * - limits of the system, if there is a shell to set them: CPU time, no core dumps, no bytes written to files.
 */
export function sandboxCommand(program: SandboxProgram, bounds: SandboxBounds): SandboxCommand {
  const sandbox = fileURLToPath(new URL('./sandbox/', import.meta.url));
  const pyodide = pyodideFolder();
  const node = [
    '--permission',
    `--allow-fs-read=${sandbox}*`,
    `--allow-fs-read=${pyodide}/*`,
    '--no-experimental-sqlite',
    '--no-addons',
    '--disable-sigusr1',
    '--disable-warning=ExperimentalWarning',
    '--disallow-code-generation-from-strings',
    `--wasm-max-mem-pages=${Math.min(bounds.memoryMb * PAGES_PER_MB, MAX_PAGES)}`,
    `--max-old-space-size=${JAVASCRIPT_HEAP_MB}`,
    PROGRAMS[program],
    pyodide,
    ...(bounds.fromSnapshot ? ['from-snapshot'] : []),
  ];
  if (!existsSync(SHELL)) return { file: confinedNodePath(), args: node };
  const limits = `ulimit -c 0; ulimit -f 0; ulimit -t ${Math.ceil(bounds.cpuSeconds)}; exec "$0" "$@"`;
  const [file, ...args] = [...(bounds.confinement?.command ?? []), SHELL, '-c', limits, confinedNodePath(), ...node];
  return { file: file ?? SHELL, args };
}
