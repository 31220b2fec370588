import { isPublishedWithin } from '../source-limits.ts';

/** The past time ranges that a search can be limited to, with their length in days. */
export const TIME_RANGES = { day: 1, week: 7, month: 31, year: 366 } as const;
export type TimeRange = keyof typeof TIME_RANGES;

const DAY_MS = 86_400_000;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const UNITS: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
};

/**
 * Converts a publication date as services write it (`2024-03-05T08:00:00`, `Mar 5, 2024`, `5 March 2024`, `2 days ago`,
 * an HTTP date) to ISO 8601: `2024-03-05`, or `2024-03` where the day is unknown. Undefined if it is no date.
 */
export function publishedDate(text: unknown, now: number): string | undefined {
  if (typeof text !== 'string') return undefined;
  const date = text.trim().slice(0, 60);
  const iso = /^(\d{4})-(\d{2})(?:-(\d{2}))?(?!\d)/.exec(date);
  if (iso) return isoDate(Number(iso[1]), Number(iso[2]), iso[3] === undefined ? undefined : Number(iso[3]));
  const ago = /^(\d{1,4}|an?) (second|minute|hour|day|week|month|year)s? ago$/i.exec(date);
  if (ago) {
    const count = Number(ago[1]);
    const ms = (Number.isNaN(count) ? 1 : count) * (UNITS[(ago[2] ?? '').toLowerCase()] ?? 0);
    return new Date(now - ms).toISOString().slice(0, 10);
  }
  if (/^yesterday\b/i.test(date)) return new Date(now - DAY_MS).toISOString().slice(0, 10);
  return writtenDate(date);
}

/** `Mar 5, 2024`, `5 March 2024`, `Tue, 05 Mar 2024 08:00:00 GMT`, `March 2024`. */
function writtenDate(text: string): string | undefined {
  const words = text.match(/[a-z]+|\d+/gi)?.slice(0, 6) ?? [];
  const month = MONTHS.findIndex((name) => words.some((word) => word.toLowerCase().startsWith(name)));
  const year = words.find((word) => /^\d{4}$/.test(word));
  if (month < 0 || year === undefined) return undefined;
  const day = words.find((word) => /^\d{1,2}$/.test(word));
  return isoDate(Number(year), month + 1, day === undefined ? undefined : Number(day));
}

function isoDate(year: number, month: number, day: number | undefined): string | undefined {
  if (year < 1000 || month < 1 || month > 12 || (day !== undefined && (day < 1 || day > 31))) return undefined;
  const parts = [String(year), String(month).padStart(2, '0')];
  if (day !== undefined) parts.push(String(day).padStart(2, '0'));
  return parts.join('-');
}

/** The first day of a range that ends now, as `2024-03-05`. */
export function startOf(range: TimeRange, now: number): string {
  return new Date(now - TIME_RANGES[range] * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Whether a hit may be in the range. Services apply ranges loosely, so a hit that is known to be older is excluded, with a
 * day's grace for time zones. A hit without a date is included.
 */
export function isInRange(published: string | undefined, range: TimeRange | undefined, now: number): boolean {
  return range === undefined || isPublishedWithin(published, { after: startOf(range, now - DAY_MS) });
}
