import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: (options?: object) => void = runInNewContext('gc');

/** Runs a garbage collection. */
export function collectGarbage(): void {
  gc();
}

/** Collects all garbage and returns the memory to the system, so that measurements see only what is referenced. */
export function collectAll(): void {
  gc({ type: 'major', flavor: 'last-resort' });
}
