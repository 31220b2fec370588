/** Where values stand along an axis, and what is written beside it. */

/** Ticks of an axis that measures, about; and of one of days, at most. */
const TICKS = 5;
const MOST_DAYS = 7;

/** Places for names, in the order in which the data has them. `room`: what a label needs. */
export function bandScale(values, { size, room }) {
  const names = [...new Set(values)];
  const step = size / names.length;
  const places = new Map(names.map((name, index) => [name, (index + 0.5) * step]));
  const every = Math.max(1, Math.ceil(Math.min(room, 40) / step));
  const shown = names.filter((_, index) => index % every === 0);
  return {
    kind: 'band',
    step,
    room: step * every - 4,
    at: (value) => places.get(value),
    ticks: shown.map((value) => ({ value, text: typeof value === 'number' ? numberText(value) : value })),
  };
}

/** A measure, between round numbers. `zero`: it begins there, so that lengths can be compared. */
export function linearScale(values, { size, zero }) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  // What differs little beside its size is not seen from zero.
  if (zero || (low > 0 && low < high / 2)) low = Math.min(0, low);
  if (zero || (high < 0 && high > low / 2)) high = Math.max(0, high);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const step = niceStep((high - low) / TICKS);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
  const [start, end] = [first * step, last * step];
  return {
    kind: 'linear',
    step: 0,
    room: size / ticks.length,
    at: (value) => ((value - start) / (end - start)) * size,
    ticks: ticks.map((value) => ({ value, text: numberText(value) })),
  };
}

/** Days, months and years, of which some are named. */
export function timeScale(values, { size }) {
  const times = new Map(values.map((value) => [value, timeOf(value)]));
  const inOrder = [...times.keys()].sort((a, b) => times.get(a) - times.get(b));
  const start = times.get(inOrder[0]);
  const span = times.get(inOrder[inOrder.length - 1]) - start;
  const every = Math.max(1, Math.ceil(inOrder.length / MOST_DAYS));
  const shown = inOrder.filter((_, index) => index % every === 0);
  return {
    kind: 'time',
    step: 0,
    room: size / shown.length,
    at: (value) => (span === 0 ? size / 2 : ((times.get(value) - start) / span) * size),
    ticks: shown.map((value) => ({ value, text: String(value) })),
  };
}

/** `2024`, `2024-05` or `2024-05-31` in milliseconds. */
function timeOf(value) {
  const [year, month = 1, day = 1] = String(value).split('-').map(Number);
  return Date.UTC(year, month - 1, day);
}

/** The next of 1, 2 and 5, with zeros. */
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough * 0.999) ?? 10;
  return factor * power;
}

/** A number as a reader wants it. */
export function numberText(value, digits = 6) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return value.toExponential(2);
  const notation = size >= 1e6 ? 'compact' : 'standard';
  return new Intl.NumberFormat('en', {
    maximumSignificantDigits: digits,
    notation,
    // Years are no thousands.
    useGrouping: size >= 10_000,
  }).format(value);
}
