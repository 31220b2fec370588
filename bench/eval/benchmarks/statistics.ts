import { seededRandom } from '../random.ts';

/** How sure a mean is. */
export interface Estimate {
  mean: number;
  /** The interval that holds it with 95 % confidence. */
  low: number;
  high: number;
}

const RESAMPLES = 2000;

/** The mean of values with its bootstrap interval; the same every time. */
export function bootstrap(values: readonly number[]): Estimate {
  const mean = meanOf(values);
  if (values.length < 2) return { mean, low: mean, high: mean };
  const random = seededRandom(1);
  const means = Array.from({ length: RESAMPLES }, () => meanOf(values.map(() => random.pick(values))));
  means.sort((a, b) => a - b);
  return {
    mean,
    low: means[Math.floor(RESAMPLES * 0.025)] ?? mean,
    high: means[Math.ceil(RESAMPLES * 0.975) - 1] ?? mean,
  };
}

/** The share of right answers with Wilson's interval, which holds for few questions and for shares near 0 and 1. */
export function wilson(right: number, all: number): Estimate {
  if (all === 0) return { mean: 0, low: 0, high: 1 };
  const z = 1.96;
  const mean = right / all;
  const middle = (mean + z ** 2 / (2 * all)) / (1 + z ** 2 / all);
  const half = (z / (1 + z ** 2 / all)) * Math.sqrt((mean * (1 - mean)) / all + z ** 2 / (4 * all ** 2));
  return { mean, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
