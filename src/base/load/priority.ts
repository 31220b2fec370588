import { setPriority } from 'node:os';

/** How much work in the background stands back behind what somebody waits for; see `nice(2)`. */
const NICE = 5;

/** Lets a process stand back behind what somebody waits for. 0: this one, on Linux this thread alone. Never fails. */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICE);
  } catch {
    // It may be gone already, or the system may not allow it: it then runs like any process.
  }
}
