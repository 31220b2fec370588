/** How a command ended; documented in docs/getting-started.md. */
export const EXIT = {
  /** The run completed; the command did its work. */
  completed: 0,
  /** The run failed, or the command could not do its work. */
  failed: 1,
  /** Wrong arguments, or an invalid configuration. */
  usage: 2,
  /** The run was cancelled. */
  cancelled: 3,
  /** The gateway could not be reached, or the connection was lost for good. */
  connection: 4,
  /** The gateway refused the request: wrong key, unknown model, a limit. */
  refused: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
