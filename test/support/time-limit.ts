import { slowness } from './fair-time.ts';

let slow: number | undefined;

/**
 * Milliseconds that a test may take which needs at most `seconds` on the machine on which the limits were set: nine
 * times as long beside eight others on one core.
 */
export function patience(seconds: number): number {
  slow ??= Math.max(1, slowness());
  return Math.ceil(seconds * 1000 * slow);
}
