/** Scales: the positions of values along an axis, and its ticks. */

/** The approximate number of ticks of a linear axis, and the maximum number of a time axis. */
const LINEAR_TICKS = 5;
const MAX_TIME_TICKS = 7;

/** A scale for names, in the order of the data. `room`: the space that a label needs. */
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

/** A scale for measures, between round numbers. `zero`: it includes zero, so that lengths can be compared. */
export function linearScale(values, { size, zero }) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  // Without `zero`, values that differ little compared to their size would be indistinguishable on a scale from zero.
  if (zero || (low > 0 && low < high / 2)) low = Math.min(0, low);
  if (zero || (high < 0 && high > low / 2)) high = Math.max(0, high);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const step = niceStep((high - low) / LINEAR_TICKS);
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

/** A scale for days, months and years, some of which get a tick. */
export function timeScale(values, { size }) {
  const times = new Map(values.map((value) => [value, timeOf(value)]));
  const sorted = [...times.keys()].sort((a, b) => times.get(a) - times.get(b));
  const start = times.get(sorted[0]);
  const span = times.get(sorted[sorted.length - 1]) - start;
  const every = Math.max(1, Math.ceil(sorted.length / MAX_TIME_TICKS));
  const shown = sorted.filter((_, index) => index % every === 0);
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

/** Rounds a step up to 1, 2 or 5 times a power of ten. */
function niceStep(minimum) {
  const power = 10 ** Math.floor(Math.log10(minimum));
  const factor = [1, 2, 5, 10].find((each) => each * power >= minimum * 0.999) ?? 10;
  return factor * power;
}

/** Formats a number for readers. */
export function numberText(value, digits = 6) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return value.toExponential(2);
  const notation = size >= 1e6 ? 'compact' : 'standard';
  return new Intl.NumberFormat('en', {
    maximumSignificantDigits: digits,
    notation,
    // Four digits may be a year, which has no separator.
    useGrouping: size >= 10_000,
  }).format(value);
}
