import { z } from 'zod';
import { MAX_TIMER_MS } from '../base/abort.ts';

const UNIT = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/** A size such as `10mb`, `512 kb` or a plain number of bytes; parsed to bytes. */
export const size = z.union([z.int().positive(), z.string()]).transform((value, context) => {
  if (typeof value === 'number') return value;
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)$/i.exec(value.trim());
  const unit = match?.[2]?.toLowerCase();
  if (!match || !(unit === 'b' || unit === 'kb' || unit === 'mb' || unit === 'gb')) {
    context.addIssue({
      code: 'custom',
      message: 'is not a size such as 10mb: write bytes, or a number with b, kb, mb or gb',
    });
    return z.NEVER;
  }
  return Math.floor(Number(match[1]) * UNIT[unit]);
});

/** A positive number of seconds; parsed to milliseconds. */
export const seconds = duration(1000);
/** A positive number of minutes; parsed to milliseconds. */
export const minutes = duration(60_000);
/** Minutes, of which 0 means never; parsed to milliseconds. */
export const minutesOrNone = z.literal(0).or(minutes);
/** A positive number of hours of any size, for what no timer waits for; parsed to milliseconds. */
export const hours = z
  .number()
  .positive()
  .transform((value) => Math.round(value * 3_600_000));

function duration(unitMs: number) {
  const max = Math.floor(MAX_TIMER_MS / unitMs);
  return z
    .number()
    .positive()
    .max(max, `is longer than the longest time that can be waited, ${max}`)
    .transform((value) => Math.round(value * unitMs));
}
