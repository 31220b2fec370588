import { monthNames } from '../../../tools/text/month-names.ts';
import { foldedPattern, foldText } from './fold.ts';
import { Places } from './places.ts';

/** A date in a folded text. A missing part is undefined. */
export interface FoundDate {
  start: number;
  end: number;
  year?: number;
  month?: number;
  day?: number;
  /** The first year of a decade: `the 1990s`. */
  decade?: number;
  quarter?: number;
  half?: number;
}

const LOCALES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ru'];
/** Words that are only months next to a number: `may`, `march`, `mars`, `set`. */
const WORDS_TOO = new Set('may march mars mar set sept dec mai out ago dez mag jan fev gen'.split(' '));

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

/** How quarters and halves of a year are counted. Halves are other things without their year: `in the second half`. */
const COUNTS = [
  '1st|first|1\\.º?|erstes?n?|1er|premier|primer|primo|primeiro',
  '2nd|second|2\\.º?|zweite[sn]?|2e|deuxieme|secondo?|segundo',
  '3rd|third|3\\.º?|dritte[sn]?|3e|troisieme|tercer|terzo|terceiro',
  '4th|fourth|4\\.º?|vierte[sn]?|4e|quatrieme|cuarto|quarto',
].map((words, at) => `(?<count${at + 1}>${words})`);
const OF_YEAR = `,?(?: of| del?| do| d'| des jahres)? ?${YEAR}(?!\\d)`;
const PART = foldedPattern(
  `(?<!\\p{L})(?:${COUNTS.join('|')})[ -](?:fiscal )?(?:(?<quarters>quarter|quartals?|trimestre)(?!\\p{L})(?:${OF_YEAR})?|(?:half|halbjahre?s?|semestre)${OF_YEAR.replace('?<year>', '?<ofHalf>')})`,
);

const FORMS: readonly RegExp[] = [
  /(?:(?<year>20\d{2})年度?)?第?(?<quarter>[1-4一二三四])(?:季度|四半期)/gu,
  /(?<!\d)(?<year>1\d{3}|20\d{2})-(?<number>[01]\d)(?:-(?<day>[0-3]\d))?(?!\d)/gu,
  /(?<year>1\d{3}|20\d{2})\s?年\s?(?:(?<number>1?\d)\s?月(?:份)?(?:\s?(?<day>[0-3]?\d)\s?[日号])?)?/gu,
  /(?<number>1?\d)\s?月(?:份)?(?:\s?(?<day>[0-3]?\d)\s?[日号])?/gu,
  /(?<!\d)(?<day>[0-3]?\d)[./](?<number>[01]?\d)[./](?<year>1\d{3}|20\d{2})(?!\d)/gu,
  new RegExp(`(?<![\\d.,])${DAY}${OF}\\s${MONTH}(?:,?${OF}\\s${YEAR}(?!\\d))?`, 'g'),
  new RegExp(`${MONTH}\\s(?<day>[0-3]?\\d)(?:st|nd|rd|th)?(?![\\d%]|[.,]\\d)(?:,?\\s${YEAR}(?!\\d))?`, 'g'),
  new RegExp(`${MONTH},?${OF}\\s${YEAR}(?!\\d)`, 'g'),
  new RegExp(MONTH, 'g'),
  new RegExp(PART, 'g'),
  /(?<![\p{L}\d])(?:q|t(?=\d 20))(?<quarter>[1-4])(?:(?:\s(?:of\s)?|\/|-)(?<year>20\d{2}))?(?!\d)/gu,
  /(?<![\p{L}\d])h(?<half>[12])(?:\s(?:of\s)?|\/|-)(?<year>20\d{2})(?!\d)/gu,
  /(?<![\d.,$€£¥-])(?<decade>1\d{2}0|20\d0)(?:'?s|er(?:n|jahre\p{L}*)?|年代)(?!\p{L})/gu,
  // A year: four digits that are not an amount.
  /(?<![\d.,:$€£¥/])(?<year>1[0-9]\d{2}|20\d{2})(?!\d|[.,:]\d|\s?(?:%|km|kg|m²|m(?!\p{L})|met|dollar|euro|percent|prozent|million|mill|people|years|jahre|ans(?!\p{L})|millones|bn)|[人元円米万千亿億兆台件个個]|\s\d{3}(?!\d))/gu,
];

/** A cheap test before the expressions: a text without a match has no date. */
const MAY_BE_DATE = new RegExp(
  `\\d{4}|月|q[1-4]|季度|四半期|quarter|quartal|trimestre|${MONTH.replace('?<month>', '')}`,
);

/** The dates of a folded text, in order. `original` is the unfolded text: `May` is a month, `may` a verb. */
export function datesIn(text: string, original: string): FoundDate[] {
  if (!MAY_BE_DATE.test(text)) return [];
  const found: FoundDate[] = [];
  const places = new Places(text);
  for (const pattern of FORMS) {
    for (const match of text.matchAll(pattern)) {
      const range = { start: match.index, end: match.index + match[0].length };
      const date = places.touches(range) ? undefined : dateOf(match.groups ?? {}, original, range.start);
      if (!date) continue;
      places.add(range);
      found.push({ ...range, ...date });
    }
  }
  return found.sort((a, b) => a.start - b.start);
}

function dateOf(
  groups: Record<string, string | undefined>,
  original: string,
  start: number,
): Omit<FoundDate, 'start' | 'end'> | undefined {
  const { year = groups.ofHalf, month, number, day, decade } = groups;
  if (month !== undefined && day === undefined && year === undefined) {
    const isCapital = /\p{Lu}/u.test(original[start] ?? '');
    if (WORDS_TOO.has(month) && !(isCapital && (month === 'may' || month === 'march'))) return undefined;
    if (WORDS_TOO.has(month) && /^[.!?]?\s?$/.test(original.slice(Math.max(0, start - 2), start))) return undefined;
  }
  const monthNumber = month !== undefined ? MONTHS.get(month) : number === undefined ? undefined : Number(number);
  if (monthNumber !== undefined && (monthNumber < 1 || monthNumber > 12)) return undefined;
  const count = COUNTS.findIndex((_, at) => groups[`count${at + 1}`] !== undefined) + 1;
  const quarter = groups.quarters === undefined ? quarterOf(groups.quarter) : count;
  const half = groups.ofHalf === undefined ? Number(groups.half ?? 0) : count;
  return {
    ...(year !== undefined && { year: Number(year) }),
    ...(monthNumber !== undefined && { month: monthNumber }),
    ...(day !== undefined && { day: Number(day) }),
    ...(decade !== undefined && { decade: Number(decade) }),
    ...(quarter > 0 && { quarter }),
    ...(half > 0 && { half }),
  };
}

function quarterOf(sign = ''): number {
  return '一二三四'.indexOf(sign || '-') + 1 || Number(sign);
}

/** Whether two dates agree in the parts that both have, and the source has the claim's finest part. */
export function sameDate(claim: FoundDate, source: FoundDate): boolean {
  if (claim.decade !== undefined) {
    const year = source.decade ?? source.year;
    return year !== undefined && Math.floor(year / 10) * 10 === claim.decade;
  }
  const parts = ['year', 'month', 'day', 'quarter', 'half'] as const;
  const shared = parts.filter((part) => claim[part] !== undefined && source[part] !== undefined);
  if (shared.length === 0 || shared.some((part) => claim[part] !== source[part])) return false;
  // A source that only gives the month does not support a day.
  const finest = parts.findLast((part) => claim[part] !== undefined);
  return finest === undefined || source[finest] !== undefined;
}
