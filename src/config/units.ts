import { z } from 'zod';
import { MAX_TIMER_MS } from '../base/abort.ts';

const UNIT = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

const INVALID_SIZE = 'is not a size such as 10mb: write bytes, or a number with b, kb, mb or gb';

/** A size such as `10mb`, `512 kb` or a plain number of bytes; parsed to bytes. */
export const size = z.union([z.int().positive(), z.string()], { error: INVALID_SIZE }).transform((value, context) => {
  if (typeof value === 'number') return value;
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)$/i.exec(value.trim());
  const unit = match?.[2]?.toLowerCase();
  if (!match || !(unit === 'b' || unit === 'kb' || unit === 'mb' || unit === 'gb')) {
    context.addIssue({ code: 'custom', message: INVALID_SIZE });
    return z.NEVER;
  }
  const bytes = Math.floor(Number(match[1]) * UNIT[unit]);
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  context.addIssue({ code: 'custom', message: 'must be from 1 byte to 8388607gb' });
  return z.NEVER;
});

/** A positive number of seconds; parsed to milliseconds. */
export const seconds = duration(1000);
/** A positive number of minutes; parsed to milliseconds. */
export const minutes = duration(60_000);
/** A number of minutes, 0 for never; parsed to milliseconds. */
export const minutesOrNone = z.literal(0).or(minutes);
/** A positive number of hours, up to a century because no timer waits for it; parsed to milliseconds. */
export const hours = z
  .number()
  .positive()
  .min(1 / 3_600_000, 'must be at least a millisecond')
  .max(876_600, 'must be at most 876600, a hundred years')
  .transform((value) => Math.round(value * 3_600_000));

function duration(unitMs: number) {
  const max = Math.floor(MAX_TIMER_MS / unitMs);
  return z
    .number()
    .positive()
    .min(1 / unitMs, 'must be at least a millisecond')
    .max(max, `is longer than the longest time that can be waited, ${max}`)
    .transform((value) => Math.round(value * unitMs));
}
