import { withoutTrailing } from '../../../../base/text.ts';
import { xmlEvents } from './xml-events.ts';

const DAY_MS = 86_400_000;
/** Excel's calendar: day 25 569 is 1970-01-01, and day 60 is a 29 February 1900 that never was. */
const UNIX_EPOCH = 25_569;
const LEAP_DAY = 60;
/** How much later the calendar of the old Mac version begins, in days. */
const MAC_DAYS = 1462;
const MAX_CODE_LENGTH = 200;
/** Literal characters in a format are moved here, so that they are not read as digit placeholders. */
const PRIVATE_USE = 0xe000;

/** Formats that workbooks refer to by number alone (ECMA-376, part 1, 18.8.30). */
const BUILT_IN: Readonly<Record<number, string>> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  5: '$#,##0;($#,##0)',
  6: '$#,##0;($#,##0)',
  7: '$#,##0.00;($#,##0.00)',
  8: '$#,##0.00;($#,##0.00)',
  9: '0%',
  10: '0.00%',
  18: 'h:mm',
  19: 'h:mm:ss',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'y h:mm',
  37: '#,##0;(#,##0)',
  38: '#,##0;(#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;(#,##0.00)',
  41: '#,##0',
  42: '$#,##0',
  43: '#,##0.00',
  44: '$#,##0.00',
  45: '[m]:ss',
  46: '[h]:mm:ss',
  47: '[m]:ss',
};

/** How a section of a format shows a number: as fixed words or as digits; undefined for a section that is not understood. */
type Section = { words: string } | DigitFormat | undefined;

interface DigitFormat {
  before: string;
  after: string;
  /** The number is multiplied by this before it is shown. */
  factor: number;
  /** The fewest digits before the point, and the fewest and the most after it. */
  minDigits: number;
  minDecimals: number;
  maxDecimals: number;
  isGrouped: boolean;
}

/** How a cell style shows numbers. */
export type CellFormat =
  | { kind: 'plain' }
  | { kind: 'duration'; unit: string }
  | { kind: 'moment'; hasDate: boolean }
  | { kind: 'number'; positive: Section; negative: Section; zero: Section; showsNegative: boolean };

const PLAIN: CellFormat = { kind: 'plain' };

/** The formats of a workbook's cell styles, in their order. */
export function cellFormats(xml: string): CellFormat[] {
  const custom = new Map<string, string>();
  const known = new Map<string, CellFormat>();
  const formats: CellFormat[] = [];
  let inCells = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'text' && event.name === 'cellxfs') inCells = event.kind === 'open';
    if (event.kind !== 'open') continue;
    const id = event.attribute('numFmtId');
    if (event.name === 'numfmt') custom.set(id, event.attribute('formatCode').slice(0, MAX_CODE_LENGTH));
    if (event.name !== 'xf' || !inCells) continue;
    const number = Number(id);
    const isDate = (number >= 14 && number <= 17) || (number >= 27 && number <= 36) || (number >= 50 && number <= 58);
    const code = custom.get(id) ?? (isDate ? 'y' : (BUILT_IN[number] ?? ''));
    formats.push(known.getOrInsertComputed(code, parseCellFormat));
  }
  return formats;
}

/** Parses a format code such as `#,##0.00;[Red]-#,##0.00`. */
export function parseCellFormat(code: string): CellFormat {
  const [first, second, third] = sectionsOf(code);
  if (!first || /\[[<>=]/.test(code)) return PLAIN;
  const unit = /\[(h+|m+|s+)\]/i.exec(first)?.[1]?.[0]?.toLowerCase();
  if (unit) return { kind: 'duration', unit };
  const letters = first.replace(/"[^"]*"|\\.|\[[^\][]*\]|_.|\*./g, '');
  if (/[ymdhs]/i.test(letters) && !/[0#?]/.test(letters.replace(/[.:]0+/g, ''))) {
    return { kind: 'moment', hasDate: /[yd]|^[^hs]*m[^hs]*$/i.test(letters) };
  }
  const positive = parseSection(first);
  const negative = second === undefined ? positive : parseSection(second);
  const zero = third === undefined ? positive : parseSection(third);
  return { kind: 'number', positive, negative, zero, showsNegative: second !== undefined && marksNegative(negative) };
}

/** Writes a number as its cell shows it: dates and times in ISO 8601, other numbers with English separators. */
export function formatNumber(text: string, format: CellFormat = PLAIN, { isMac = false } = {}): string {
  const number = Number(text);
  if (text === '' || !Number.isFinite(number)) return text;
  if (format.kind === 'duration') return duration(number, format.unit);
  if (format.kind === 'moment') return moment(number + (isMac ? MAC_DAYS : 0), format.hasDate) ?? plain(text, number);
  if (format.kind === 'plain') return plain(text, number);
  const { positive, negative, zero, showsNegative } = format;
  const shown = formatInSection(Math.abs(number), number < 0 ? negative : number === 0 ? zero : positive);
  if (shown === undefined) return plain(text, number);
  return number < 0 && !showsNegative && /[1-9]/.test(shown) ? `-${shown}` : shown;
}

/** Whether a section for numbers below 0 marks them in its text. Many do so by colour alone. */
function marksNegative(section: Section): boolean {
  return section !== undefined && ('words' in section || /[-−–(▲△]/.test(literal(section.before + section.after)));
}

/** Splits a format into its sections: for numbers above 0, below 0, and 0. */
function sectionsOf(code: string): string[] {
  return [...code.matchAll(/((?:"[^"]*"|\\.|[^;"\\])+)(?:;|$)|;/g)].map(([, section = '']) => section);
}

/** Rounds to the 15 digits that Excel shows, which removes residues of binary fractions. */
function plain(text: string, number: number): string {
  return /\d[.]?\d{15}|e/i.test(text) && Math.abs(number) < 1e15 && Math.abs(number) > 1e-9
    ? String(Number(number.toPrecision(15)))
    : text.trim();
}

function duration(days: number, unit: string): string {
  const seconds = Math.round(Math.abs(days) * 86_400);
  const twoDigits = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const sign = days < 0 ? '-' : '';
  if (unit === 's') return `${sign}${seconds}`;
  if (unit === 'm') return `${sign}${twoDigits(seconds / 60)}:${twoDigits(seconds % 60)}`;
  const rest = seconds % 60 === 0 ? '' : `:${twoDigits(seconds % 60)}`;
  return `${sign}${Math.floor(seconds / 3600)}:${twoDigits((seconds / 60) % 60)}${rest}`;
}

function moment(days: number, hasDate: boolean): string | undefined {
  if (!(days >= 0 && days < 2_958_466)) return undefined;
  const calendar = days < LEAP_DAY ? days + 1 : days;
  const iso = new Date(Math.round((calendar - UNIX_EPOCH) * 86_400) * (DAY_MS / 86_400)).toISOString();
  const time = iso.slice(11, iso.endsWith(':00.000Z') ? 16 : 19);
  if (days < 1 || !hasDate) return time;
  return Number.isInteger(days) ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${time}`;
}

function parseSection(section: string): Section {
  const bare = section.replace(
    /"([^"]*)"|\\(.)|\[\$([^\][-]*)(?:-[^\][]*)?\]|\[[^\][]*\]|[_*]./g,
    (_, quoted, escaped, money) =>
      String(quoted ?? escaped ?? money ?? '').replace(/[0#?.,%]/g, (mark) =>
        String.fromCharCode(PRIVATE_USE + mark.charCodeAt(0)),
      ),
  );
  const pattern = /^([^0#?.,]*)([0#?,]*)(?:\.([0#?]*))?(,*)([^0#?]*)$/.exec(bare);
  if (!pattern || /[E/@]|[Gg]eneral/.test(bare)) return undefined;
  const [, before = '', whole = '', decimals = '', scaling = '', after = ''] = pattern;
  if (!/[0#?]/.test(whole + decimals)) return before + after === '' ? undefined : { words: literal(before + after) };
  const scale = scaling.length + whole.length - withoutTrailing(whole, ',').length;
  const percents = (before + after).split('%').length - 1;
  return {
    before,
    after,
    factor: 100 ** percents * 1000 ** -scale,
    minDigits: whole.replace(/[^0]/g, '').length,
    minDecimals: decimals.lastIndexOf('0') + 1,
    maxDecimals: decimals.length,
    isGrouped: /[0#?],+[0#?]/.test(whole),
  };
}

/** Writes a number of at least 0; undefined for a section that is not understood, such as fractions. */
function formatInSection(number: number, section: Section): string | undefined {
  if (!section || number >= 1e15) return undefined;
  if ('words' in section) return section.words;
  const { before, after, factor, minDigits, minDecimals, maxDecimals, isGrouped } = section;
  const [integer = '0', fraction = ''] = roundHalfUp(number * factor, maxDecimals).split('.');
  const padded = integer === '0' && minDigits === 0 ? '' : integer.padStart(minDigits, '0');
  const grouped = isGrouped ? padded.replace(/\B(?=(\d{3})+$)/g, ',') : padded;
  const shownFraction = fraction.slice(0, minDecimals) + withoutTrailing(fraction.slice(minDecimals), '0');
  return literal(`${before}${grouped}${shownFraction === '' ? '' : `.${shownFraction}`}${after}`);
}

function literal(text: string): string {
  return text.replace(/[\ue000-\ue0ff]/g, (mark) => String.fromCharCode(mark.charCodeAt(0) - PRIVATE_USE)).trim();
}

/** Rounds half away from 0 by the decimal digits: 1.005 becomes 1.01. */
function roundHalfUp(number: number, places: number): string {
  const digits = String(Number(number.toPrecision(15)));
  if (/e/.test(digits)) return number.toFixed(Math.min(places, 100));
  return Number(`${Math.round(Number(`${digits}e${places}`))}e-${places}`).toFixed(Math.min(places, 100));
}
