import { createRequire } from 'node:module';

/**
 * The inner layer of the sandbox. Node's permissions already refuse files, network, processes, workers, addons and the
 * inspector; code generation from strings is off. This removes what permissions do not cover: signals to other processes,
 * built-in modules on demand, and every global that code could misuse if it ever reached JavaScript.
 */

/** Members of `process` that reach outside and that permissions do not cover. */
const DANGEROUS_PROCESS_MEMBERS = [
  'kill',
  '_kill',
  '_debugProcess',
  '_debugEnd',
  '_startProfilerIdleNotifier',
  'abort',
  'binding',
  '_linkedBinding',
  'getBuiltinModule',
  'dlopen',
  'execve',
  'setuid',
  'setgid',
  'seteuid',
  'setegid',
  'setgroups',
  'initgroups',
  'loadEnvFile',
  'report',
  'mainModule',
];

/** Globals that Pyodide does not need after loading. */
const UNNEEDED_GLOBALS = [
  'fetch',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
  'Request',
  'Response',
  'BroadcastChannel',
  'localStorage',
  'sessionStorage',
  'Worker',
  'SharedWorker',
  'require',
  'module',
];

/** Lets Pyodide load: its NODEFS reads file constants from `process.binding`, which permissions refuse. */
export function prepareForPyodide(process: NodeJS.Process): void {
  const { constants } = createRequire(import.meta.url)('node:fs');
  Object.assign(process, { binding: () => ({ fs: constants }) });
  process.argv = ['python', 'python'];
}

/** Removes what Python code must never reach, after Pyodide is loaded and before a job is read. */
export function disarm(process: NodeJS.Process): void {
  const childProcess = createRequire(import.meta.url)('node:child_process');
  // os.system() and others call spawnSync directly: a failed command is better than a broken interpreter.
  childProcess.spawnSync = () => ({ status: 126, signal: null });
  for (const name of DANGEROUS_PROCESS_MEMBERS) replace(process, name, undefined);
  for (const name of UNNEEDED_GLOBALS) replace(globalThis, name, undefined);
  const stub = Object.freeze({
    getuid: () => 1000,
    getgid: () => 1000,
    umask: () => 0o22,
    platform: process.platform,
    argv: Object.freeze(['python']),
    versions: Object.freeze({ node: process.versions.node }),
    stdin: Object.freeze({ fd: 0 }),
    stdout: Object.freeze({ fd: 1 }),
    stderr: Object.freeze({ fd: 2 }),
  });
  replace(globalThis, 'process', stub);
}

/** Members through which Python could mount the host's files or open its sockets if there were no permissions. */
const BRIDGES = [
  ['FS', 'filesystems', 'NODEFS'],
  ['_module', 'NODEFS'],
  ['_api', 'initializeNodeSockFS'],
] as const;

/** Removes Pyodide's bridges to Node, the undocumented ones included. */
export function removeBridges(python: object): void {
  for (const path of BRIDGES) {
    const name = path.at(-1) ?? '';
    let owner: unknown = python;
    for (const part of path.slice(0, -1)) owner = isObject(owner) ? Reflect.get(owner, part) : undefined;
    if (isObject(owner)) Reflect.deleteProperty(owner, name);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Deletes the member first: Node loads what stands behind a lazy one, such as all of `fetch`, when it is defined anew. */
function replace(target: object, name: string, value: unknown): void {
  Reflect.deleteProperty(target, name);
  Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: false });
}
