import { monthNames } from '../../../tools/text/month-names.ts';
import { foldedPattern, foldText } from './fold.ts';

/** Dates in a folded text. A part that is not said is undefined. */

export interface FoundDate {
  start: number;
  end: number;
  year?: number;
  month?: number;
  day?: number;
  /** The first year of ten: `the 1990s`. */
  decade?: number;
  quarter?: number;
}

const LOCALES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ru'];
/** Words that are months only beside a number: `may`, `march`, `mars`, `set`. */
const WORDS_TOO = new Set([
  'may',
  'march',
  'mars',
  'mar',
  'set',
  'sept',
  'dec',
  'mai',
  'out',
  'ago',
  'dez',
  'mag',
  'jan',
  'fev',
  'gen',
]);

const MONTHS = new Map(
  LOCALES.flatMap((locale) => [...monthNames(locale)])
    .map(([name, month]): [string, number] => [foldText(name), month])
    .filter(([name]) => name.length > 2 && !/\d/.test(name)),
)
  .set('sept', 9)
  .set('janner', 1);
const names = [...MONTHS.keys()].sort((a, b) => b.length - a.length).join('|');
const MONTH = foldedPattern(`(?<!\\p{L})(?<month>${names})\\.?(?!\\p{L})`);
const DAY = '(?<day>[0-3]?\\d)(?:st|nd|rd|th|er|re|º|°|\\.)?';
const YEAR = '(?<year>1\\d{3}|20\\d{2})';
const OF = "(?:\\s(?:of|de|del|d[ei]l?l?'?))?";

interface Form {
  pattern: RegExp;
  /** It has the name of a month. */
  ofMonth?: true;
  /** It has all digits of a year. */
  ofYear?: true;
  /** Signs without which it stands nowhere: one look is cheaper. */
  needs?: RegExp;
}

const FORMS: readonly Form[] = [
  {
    ofYear: true,
    needs: /\d-\d/,
    pattern: /(?<!\d)(?<year>1\d{3}|20\d{2})-(?<number>[01]\d)(?:-(?<day>[0-3]\d))?(?!\d)/gu,
  },
  {
    ofYear: true,
    needs: /年/,
    pattern: /(?<year>1\d{3}|20\d{2})\s?年\s?(?:(?<number>1?\d)\s?月(?:份)?(?:\s?(?<day>[0-3]?\d)\s?[日号])?)?/gu,
  },
  { needs: /月/, pattern: /(?<number>1?\d)\s?月(?:份)?(?:\s?(?<day>[0-3]?\d)\s?[日号])?/gu },
  {
    ofYear: true,
    needs: /\d[./]\d\d?[./]/,
    pattern: /(?<!\d)(?<day>[0-3]?\d)[./](?<number>[01]?\d)[./](?<year>1\d{3}|20\d{2})(?!\d)/gu,
  },
  { ofMonth: true, pattern: new RegExp(`(?<![\\d.,])${DAY}${OF}\\s${MONTH}(?:,?${OF}\\s${YEAR}(?!\\d))?`, 'g') },
  {
    ofMonth: true,
    pattern: new RegExp(`${MONTH}\\s(?<day>[0-3]?\\d)(?:st|nd|rd|th)?(?![\\d%]|[.,]\\d)(?:,?\\s${YEAR}(?!\\d))?`, 'g'),
  },
  { ofMonth: true, pattern: new RegExp(`${MONTH},?${OF}\\s${YEAR}(?!\\d)`, 'g') },
  { ofMonth: true, pattern: new RegExp(MONTH, 'g') },
  { needs: /q[1-4]/, pattern: /(?<![\p{L}\d])q(?<quarter>[1-4])(?:\s(?:of\s)?(?<year>20\d{2}))?(?!\d)/gu },
  { ofYear: true, pattern: /(?<![\d.,$€£¥-])(?<decade>1\d{2}0|20\d0)(?:'?s|er(?:n|jahre\p{L}*)?|年代)(?!\p{L})/gu },
  // A year: four digits that are no amount of anything.
  {
    ofYear: true,
    pattern:
      /(?<![\d.,:$€£¥/])(?<year>1[0-9]\d{2}|20\d{2})(?!\d|[.,:]\d|\s?(?:%|km|kg|m²|m(?!\p{L})|met|dollar|euro|percent|prozent|million|mill|people|years|jahre|ans(?!\p{L})|millones|bn)|[人元円米万千亿億兆台件个個]|\s\d{3}(?!\d))/gu,
  },
];

const FOUR_DIGITS = /\d{4}/;
/** What is a date without a year and without the name of a month. */
const MAY_BE_DATE = /月|q[1-4]/;

/** The dates of a folded text in their order. `original` is the text as it was written: `May` is a month, `may` a verb. */
export function datesIn(text: string, original: string): FoundDate[] {
  const hasMonth = text.match(/\p{L}+/gu)?.some((word) => MONTHS.has(word)) ?? false;
  const hasYear = FOUR_DIGITS.test(text);
  if (!hasMonth && !hasYear && !MAY_BE_DATE.test(text)) return [];
  const found: FoundDate[] = [];
  for (const { pattern, ofMonth, ofYear, needs } of FORMS) {
    if ((ofMonth && !hasMonth) || (ofYear && !hasYear) || needs?.test(text) === false) continue;
    for (const match of text.matchAll(pattern)) {
      const start = match.index;
      const end = start + match[0].length;
      if (found.some((date) => start < date.end && end > date.start)) continue;
      const date = dateOf(match.groups ?? {}, original, start);
      if (date) found.push({ start, end, ...date });
    }
  }
  return found.sort((a, b) => a.start - b.start);
}

function dateOf(
  { year, month, number, day, decade, quarter }: Record<string, string | undefined>,
  original: string,
  start: number,
): Omit<FoundDate, 'start' | 'end'> | undefined {
  if (month !== undefined && day === undefined && year === undefined) {
    const isCapital = /\p{Lu}/u.test(original[start] ?? '');
    if (WORDS_TOO.has(month) && !(isCapital && (month === 'may' || month === 'march'))) return undefined;
    if (WORDS_TOO.has(month) && /^[.!?]?\s?$/.test(original.slice(Math.max(0, start - 2), start))) return undefined;
  }
  const monthNumber = month !== undefined ? MONTHS.get(month) : number === undefined ? undefined : Number(number);
  if (monthNumber !== undefined && (monthNumber < 1 || monthNumber > 12)) return undefined;
  return {
    ...(year !== undefined && { year: Number(year) }),
    ...(monthNumber !== undefined && { month: monthNumber }),
    ...(day !== undefined && { day: Number(day) }),
    ...(decade !== undefined && { decade: Number(decade) }),
    ...(quarter !== undefined && { quarter: Number(quarter) }),
  };
}

/** Whether a date of a claim is one of those of its source; what only one of the two says does not count. */
export function sameDate(claim: FoundDate, source: FoundDate): boolean {
  if (claim.decade !== undefined) {
    const year = source.decade ?? source.year;
    return year !== undefined && Math.floor(year / 10) * 10 === claim.decade;
  }
  const parts = ['year', 'month', 'day', 'quarter'] as const;
  const shared = parts.filter((part) => claim[part] !== undefined && source[part] !== undefined);
  if (shared.length === 0 || shared.some((part) => claim[part] !== source[part])) return false;
  // The finer part is what is said: a month of the same year is not a day of it.
  const finest = parts.findLast((part) => claim[part] !== undefined);
  return finest === undefined || source[finest] !== undefined;
}
