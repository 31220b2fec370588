/** What the system takes from a process before it starts, besides what Node itself refuses it. */
export interface Confinement {
  /** The start of its command line; empty where the system takes nothing. */
  command: readonly string[];
  /** In words, for people; empty where nothing holds. */
  holds: readonly string[];
}

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
 * How this system may confine a process, strongest first; each has to be tried: containers and kernels forbid namespaces,
 * `nobody` may not read the program, and the tools (util-linux) may be missing.
 */
export function waysToConfine(): readonly Confinement[] {
  if (process.platform !== 'linux') return [];
  const isRoot = process.getuid?.() === 0;
  return WAYS.filter(({ forRoot }) => isRoot || !forRoot);
}
