import { z } from 'zod';

const UNIT = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/** A size such as `10mb`, `512 kb` or a plain number of bytes; parsed to bytes. */
export const size = z.union([z.int().positive(), z.string()]).transform((value, context) => {
  if (typeof value === 'number') return value;
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)$/i.exec(value.trim());
  const unit = match?.[2]?.toLowerCase();
  if (!match || !(unit === 'b' || unit === 'kb' || unit === 'mb' || unit === 'gb')) {
    context.addIssue({
      code: 'custom',
      message: 'is no size: write bytes, or a number with b, kb, mb or gb, as in 10mb',
    });
    return z.NEVER;
  }
  return Math.floor(Number(match[1]) * UNIT[unit]);
});

/** A positive number of seconds; parsed to milliseconds. */
export const seconds = z
  .number()
  .positive()
  .max(86_400 * 30)
  .transform((value) => Math.round(value * 1000));
