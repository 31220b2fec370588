/** A way to have the operating system restrict a process, besides what Node's permissions deny it. */
export interface Confinement {
  /** The prefix of its command line; empty if the system restricts nothing. */
  command: readonly string[];
  /** The restrictions in words, for operators; empty if there are none. */
  restrictions: readonly string[];
}

/** Tools of util-linux, where distributions keep them. */
const UNSHARE = '/usr/bin/unshare';
const SETPRIV = '/usr/bin/setpriv';

/** The user `nobody` of every Linux distribution. */
const NOBODY = '65534';

const NAMESPACES = ['--net', '--ipc', '--uts'];
const NO_PRIVILEGES = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
const NAMESPACES_IN_WORDS = ['its own network without any interface', 'its own IPC and host name'];
const PRIVILEGES_IN_WORDS = ['no capabilities', 'no new privileges'];

/** Strongest first. All of them `exec` the program, so that it keeps the process id that was started. */
const WAYS: readonly (Confinement & { forRoot: boolean })[] = [
  {
    forRoot: true,
    command: [
      ...[UNSHARE, ...NAMESPACES, '--'],
      ...[SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...NO_PRIVILEGES, '--'],
    ],
    restrictions: ['the user nobody', ...NAMESPACES_IN_WORDS, ...PRIVILEGES_IN_WORDS],
  },
  {
    forRoot: false,
    command: [UNSHARE, '--user', '--map-current-user', ...NAMESPACES, '--', SETPRIV, ...NO_PRIVILEGES, '--'],
    restrictions: ['its own user namespace', ...NAMESPACES_IN_WORDS, ...PRIVILEGES_IN_WORDS],
  },
  {
    forRoot: true,
    command: [...[SETPRIV, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...NO_PRIVILEGES, '--']],
    restrictions: ['the user nobody', ...PRIVILEGES_IN_WORDS],
  },
  { forRoot: false, command: [SETPRIV, '--no-new-privs', '--'], restrictions: ['no new privileges'] },
];

/**
 * The ways in which this system may be able to confine a process, strongest first. Each has to be tried: containers and
 * kernels forbid namespaces, `nobody` may not be able to read the program, and the tools (util-linux) may be missing.
 */
export function possibleConfinements(): readonly Confinement[] {
  if (process.platform !== 'linux') return [];
  const isRoot = process.getuid?.() === 0;
  return WAYS.filter(({ forRoot }) => isRoot || !forRoot);
}
