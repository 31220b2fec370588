import type { Figure } from './figures.ts';
import { PERCENT, scaleBetween } from './units.ts';

/** Compares figures that are written in different ways, rounded, or computed from each other. */

/** How far a figure may be from the one that it approximates, relative to its size. */
const ABOUT_TOLERANCE = 0.06;
const FRACTION_TOLERANCE = 0.1;
const OVER_TOLERANCE = 0.12;
const OVER_SHARE_TOLERANCE = 0.34;

/** Whether a figure of a claim agrees with one of its source. */
export function sameFigure(claim: Figure, source: Figure): boolean {
  if (claim.unit?.dimension === 'temperature' && source.unit && claim.unit.name !== source.unit.name)
    return sameFigure({ ...claim, unit: undefined }, inOtherDegrees(source));
  const scale = scaleBetween(claim.unit, source.unit);
  if (scale === undefined || isOtherSide(claim, source)) return false;
  if (claim.rate !== undefined && source.rate !== undefined && claim.rate !== source.rate) return false;
  if (claim.isBelowZero === true ? isAboveZero(source) : source.isBelowZero === true && isAboveZero(claim))
    return false;
  if (claim.quotient !== undefined || source.quotient !== undefined) {
    // Something per something else is not the same as a plain unit.
    const [own, theirs] = [claim, source].map(({ quotient, unit }) => quotient ?? unit?.name);
    if (own !== undefined && theirs !== undefined && own !== theirs) return false;
  }
  return claim.values.some((claimed, reading) =>
    source.values.some((found, other) => {
      const step = claim.steps[reading] ?? 1;
      const foundStep = source.steps[other] ?? 1;
      // Only the first reading of a number may be rounded; nobody writes `2,400` for `2.4`.
      if (reading > 0 && foundStep > step) return false;
      if (other > 0 && reading === 0) return scale === 1 && claimed === found && step <= foundStep;
      if (other === 0 && reading > 0 && scale !== 1) return false;
      return isClose(claimed, { found: found * scale, claim, step, converted: scale !== 1 });
    }),
  );
}

/** A temperature in the other degrees. */
function inOtherDegrees(figure: Figure): Figure {
  const isCelsius = figure.unit?.name === 'celsius';
  const [value = 0] = figure.values;
  const degrees = figure.isBelowZero ? -value : value;
  const converted = isCelsius ? degrees * 1.8 + 32 : (degrees - 32) / 1.8;
  const steps = figure.steps.slice(0, 1).map((step) => (isCelsius ? step * 1.8 : step / 1.8));
  return { ...figure, unit: undefined, values: [Math.abs(converted)], steps, isBelowZero: converted < 0 };
}

function isAboveZero({ isBelowZero = false, falls }: Figure): boolean {
  return !isBelowZero && falls?.() !== true;
}

/** `Less than 842 million` is not `more than 842 million`. */
function isOtherSide(claim: Figure, source: Figure): boolean {
  if (claim.values[0] !== source.values[0]) return false;
  const own = claim.precision();
  return (own === 'over' && source.precision() === 'under') || (own === 'under' && source.precision() === 'over');
}

function isClose(
  claimed: number,
  { found, claim, step, converted }: { found: number; claim: Figure; step: number; converted: boolean },
): boolean {
  const difference = claimed - found;
  const size = Math.max(Math.abs(claimed), Number.EPSILON);
  if (Math.abs(difference) <= size * 1e-9) return true;
  if (converted && Math.abs(difference) <= size * 0.01) return true;
  const digits = claimed / step;
  // Several digits may be a rounded figure: 26 % for 26.3 %, 5.9 million for 5 889 000.
  const isFine = claim.isRounded || step < 1 || (digits >= 10 && step === 1 && !Number.isInteger(found));
  if (isFine && digits >= 2 && Math.abs(difference) <= step * 0.5001) return true;
  // `A third` may be 31 %.
  const isFraction = claim.isRounded && claim.unit === PERCENT;
  // `About 505` does not agree with 508: a rounded figure is not finer than its own last digit.
  const fine = isFraction ? Number.POSITIVE_INFINITY : finestOf(claimed, step);
  switch (claim.precision()) {
    case 'about':
      return Math.abs(difference) <= Math.min(size * (isFraction ? FRACTION_TOLERANCE : ABOUT_TOLERANCE), fine);
    case 'over':
      // `More than half` may be up to the next common share, `over three weeks` just below four.
      return (
        difference <= 0 &&
        -difference <=
          (isFraction
            ? size * OVER_SHARE_TOLERANCE
            : Math.min(Math.max(size * OVER_TOLERANCE, digits < 10 ? step * 0.9 : 0), fine * 2))
      );
    case 'under':
      return difference >= 0
        ? difference <= Math.min(size * OVER_TOLERANCE, fine * 2)
        : -difference <= Math.min((size * ABOUT_TOLERANCE) / 4, fine);
    default:
      return false;
  }
}

/** The magnitude of the last digit of a number that is not zero; five times that if the digit is a five. */
function finestOf(claimed: number, step: number): number {
  let digits = Math.round(Math.abs(claimed) / step);
  let fine = step;
  while (digits >= 10 && digits % 10 === 0) {
    digits /= 10;
    fine *= 10;
  }
  return digits % 10 === 5 ? fine * 5 : fine;
}

/** Whether a figure may be a count of things that a source names. */
export function isCount({ values: [value = 0], unit, isRounded }: Figure): boolean {
  return !unit && !isRounded && Number.isInteger(value) && value <= MAX_COUNTED;
}
const MAX_COUNTED = 12;

/** How many figures of a sentence are combined; more are a table. */
const MAX_COMBINED = 8;

/**
 * Whether a figure of a claim follows from two figures of one sentence: their difference, their ratio, or the relative
 * change between them.
 */
export function isComputed(claim: Figure, sentence: readonly Figure[]): boolean {
  const { unit } = claim;
  const figures = sentence.slice(0, MAX_COMBINED);
  return figures.some((a, at) =>
    figures.slice(at + 1).some((b) => {
      const scale = scaleBetween(a.unit, b.unit);
      const [one = 0, other = 0] = [a.values[0], (b.values[0] ?? 0) * (scale ?? 0)];
      const [small, large] = one < other ? [one, other] : [other, one];
      if (small <= 0) return false;
      const own = a.unit ?? b.unit;
      const fall = claim.falls?.() ? [1 - small / large] : [];
      if (unit?.dimension === 'ratio') return isNear(claim, large / small);
      if (own?.name === 'percent') return unit?.dimension === 'points' && isNear(claim, large - small);
      if (unit?.name === 'percent')
        return [small / large, large / small - 1, ...fall].some((part) => isNear(claim, part * 100));
      // Small numbers without a unit are differences of others by accident.
      const perOwn = unit || (!own && !isCount(claim)) ? scaleBetween(unit, own) : undefined;
      // A number without a unit may be in the unit of the other, but not be converted.
      if (perOwn === undefined || (perOwn !== 1 && !(a.unit && b.unit))) return false;
      return isNear(claim, (large - small) * perOwn);
    }),
  );
}

/** How far an approximate figure may be from the source if the model vouches for it, relative to its size. */
const VOUCHED_TOLERANCE = 0.2;
const COUNTED_IN = [1e3, 1e6, 1e9] as const;

/**
 * Whether a figure may have been computed from others, given that the model says so: a sum, a difference, the rest of a
 * hundred, a share, or a count of things that are named.
 */
export function mayBeComputed(claim: Figure, others: readonly Figure[], years: readonly number[]): boolean {
  const claimed = claim.values[0] ?? 0;
  if (isCount(claim)) return true;
  const precision = claim.precision();
  const fine = finestOf(claimed, claim.steps[0] ?? 1);
  const mayMean = (value: number) =>
    (fine > (claim.steps[0] ?? 1) && Math.abs(value - claimed) <= Math.min(fine, claimed * ABOUT_TOLERANCE)) ||
    (precision === 'over' && value >= claimed) ||
    (precision === 'under' && value <= claimed) ||
    (precision === 'about' && Math.abs(value - claimed) <= claimed * VOUCHED_TOLERANCE);
  if (others.some((other) => scaleBetween(claim.unit, other.unit) === 1 && mayMean(other.values[0] ?? 0))) return true;
  // The heading of a table may say what its figures are counted in: `| Trips (million) |`.
  const isInTable = ({ isRounded, unit, values: [value = 0] }: Figure) =>
    !isRounded && !unit && COUNTED_IN.some((factor) => isNear(claim, value * factor));
  if (claim.isRounded && others.some(isInTable)) return true;
  const isPart = claim.unit?.dimension === 'share' || claim.unit?.dimension === 'ratio';
  const shares = others.filter(({ unit }) => unit === PERCENT).map(({ values: [value = 0] }) => value);
  const all = [...others.slice(0, MAX_COMBINED * 2).map(({ values: [value = 0] }) => value), ...years];
  const values = [...new Set(all)];
  return values.some(
    (a, at) =>
      (isPart && isNear(claim, 100 - a)) ||
      shares.some((share) => isNear(claim, (a * share) / 100)) ||
      values.slice(at + 1).some((b) => {
        const [small, large] = a < b ? [a, b] : [b, a];
        const ratios = isPart ? [large / small, (100 * small) / large, 100 * (large / small - 1)] : [];
        return [a + b, large - small, ...ratios].some((value) => isNear(claim, value));
      }),
  );
}

/** Whether a figure is a computed value after rounding, with more tolerance if it is marked as approximate. */
function isNear(claim: Figure, computed: number): boolean {
  const [claimed = 0, step = 1] = [claim.values[0], claim.steps[0]];
  const isRounded = claim.isRounded || claim.precision() !== 'exact';
  return Math.abs(claimed - computed) <= Math.max(step * 0.5001, isRounded ? claimed * ABOUT_TOLERANCE : 0);
}
