import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: (options?: object) => void = runInNewContext('gc');

/** Collects what nobody uses any more. */
export function collectGarbage(): void {
  gc();
}

/** Collects all that can be collected and gives the memory back to the system, so that only what is held is measured. */
export function collectAll(): void {
  gc({ type: 'major', flavor: 'last-resort' });
}
