import { setPriority } from 'node:os';

/**
 * The niceness of background work; see `nice(2)`: beside work that somebody waits for it gets a tenth of a core, the least
 * that `MIN_COUNTED_SHARE` of its time limit allows for.
 */
const NICE = 10;

/** Lowers the priority of a process to that of background work. 0: this process, on Linux this thread alone. Never throws. */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICE);
  } catch {
    // The process may be gone already, or the system may forbid it: then the priority stays as it is.
  }
}
