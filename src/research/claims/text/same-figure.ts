import type { Figure } from './figures.ts';
import { PERCENT, scaleBetween } from './units.ts';

/** Whether figures that are written in other ways, or put together, say the same. */

/** How far a figure that is said to be rounded may be from what it rounds, as a part of it. */
const ROUGHLY = 0.06;
const FAR = 0.12;
const FAR_OF_PART = 0.34;

/** Whether a figure of a claim says what one of its source says. */
export function sameFigure(claim: Figure, source: Figure): boolean {
  const scale = scaleBetween(claim.unit, source.unit);
  if (scale === undefined || isOtherSide(claim, source)) return false;
  if (claim.rate !== undefined && source.rate !== undefined && claim.rate !== source.rate) return false;
  return claim.values.some((said, reading) =>
    source.values.some((found, other) => {
      const step = claim.steps[reading] ?? 1;
      // Only what a number means first is rounded.
      if (other > 0 && reading === 0) return scale === 1 && said === found;
      if (other === 0 && reading > 0 && scale !== 1) return false;
      return isClose(said, { found: found * scale, claim, step, converted: scale !== 1 });
    }),
  );
}

/** `Less than 842 million` is not `more than 842 million`. */
function isOtherSide(claim: Figure, source: Figure): boolean {
  if (claim.values[0] !== source.values[0]) return false;
  const own = claim.precision();
  return (own === 'over' && source.precision() === 'under') || (own === 'under' && source.precision() === 'over');
}

function isClose(
  said: number,
  { found, claim, step, converted }: { found: number; claim: Figure; step: number; converted: boolean },
): boolean {
  const difference = said - found;
  const size = Math.max(Math.abs(said), Number.EPSILON);
  if (Math.abs(difference) <= size * 1e-9) return true;
  if (converted && Math.abs(difference) <= size * 0.01) return true;
  const digits = said / step;
  // A last digit that is not a zero, of several, was rounded to: 26 % for 26.3 %, 5.9 million for 5 889 000.
  const isFine = claim.isRounded || step < 1 || (digits >= 10 && step === 1 && !Number.isInteger(found));
  if (isFine && digits >= 2 && Math.abs(difference) <= step * 0.5001) return true;
  switch (claim.precision()) {
    case 'about':
      return Math.abs(difference) <= size * ROUGHLY;
    case 'over':
      // `More than half` is said of all that is less than another part, `over three weeks` of less than four.
      return (
        difference <= 0 &&
        -difference <=
          Math.max(size * (claim.isRounded && claim.unit === PERCENT ? FAR_OF_PART : FAR), digits < 10 ? step * 0.9 : 0)
      );
    case 'under':
      return difference >= 0 ? difference <= size * FAR : -difference <= (size * ROUGHLY) / 4;
    default:
      return false;
  }
}

/** Figures of a sentence that are put together; more is a table. */
const MOST_PUT_TOGETHER = 8;

/**
 * Whether a figure of a claim is what two figures of one sentence make together: their difference, the part of one that
 * the other is, or by how much of itself it grew.
 */
export function isComputed(claim: Figure, sentence: readonly Figure[]): boolean {
  const { unit } = claim;
  if (!unit) return false;
  const figures = sentence.slice(0, MOST_PUT_TOGETHER);
  return figures.some((a, at) =>
    figures.slice(at + 1).some((b) => {
      const scale = scaleBetween(a.unit, b.unit);
      const [one = 0, other = 0] = [a.values[0], (b.values[0] ?? 0) * (scale ?? 0)];
      const [small, large] = one < other ? [one, other] : [other, one];
      if (small <= 0) return false;
      const own = a.unit ?? b.unit;
      if (unit.dimension === 'ratio') return isNear(claim, large / small);
      if (own?.name === 'percent') return unit.dimension === 'points' && isNear(claim, large - small);
      if (unit.name === 'percent') return [small / large, large / small - 1].some((part) => isNear(claim, part * 100));
      const perOwn = own && scaleBetween(unit, own);
      return perOwn !== undefined && isNear(claim, (large - small) * perOwn);
    }),
  );
}

/** Whether a figure is what was computed, rounded; what is said to be rounded may be somewhat farther from it. */
function isNear(claim: Figure, computed: number): boolean {
  const [said = 0, step = 1] = [claim.values[0], claim.steps[0]];
  const isRounded = claim.isRounded || claim.precision() !== 'exact';
  return Math.abs(said - computed) <= Math.max(step * 0.5001, isRounded ? said * ROUGHLY : 0);
}
