import { setImmediate } from 'node:timers/promises';

/** Lets everything else that waits have a turn: for work in pieces, whose whole would hold up everybody. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}
