import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: (options?: object) => void = runInNewContext('gc');

/**
 * Collects garbage, its buffers included: a thread that a busy machine keeps waiting frees those, and the next
 * collection, however small, waits for it.
 */
export function collectGarbage(): void {
  gc();
  gc({ type: 'minor' });
}

/** Collects all garbage and returns the memory to the system, so that measurements see only what is referenced. */
export function collectAll(): void {
  gc({ type: 'major', flavor: 'last-resort' });
}

/** Turns of the event loop within which all garbage is collected. */
const TURNS = 50;

/** Whether all of these become garbage soon. */
export async function areCollected(references: readonly WeakRef<object>[]): Promise<boolean> {
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise(setImmediate);
    collectAll();
    if (references.every((reference) => reference.deref() === undefined)) return true;
  }
  return false;
}
