import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major'; flavor?: 'last-resort' }) => void;

let collect: Collect | undefined;

/** Collects what was made lately and is not needed any more: about a millisecond. */
export function collectNew(): void {
  collect ??= exposed();
  collect({ type: 'minor' });
}

/** Collects all that can be collected and gives the memory back to the system: 50 to 150 ms in a process at rest. */
export function collectAll(): void {
  collect ??= exposed();
  collect({ type: 'major', flavor: 'last-resort' });
}

function exposed(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
