import { monthNames, plainMonth } from '../../../text/month-names.ts';

/** Languages whose names of months are tried after those of the page's own. */
const USUAL = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ru', 'pl', 'sv'];
/** A shorter beginning of a month's name may be that of another word. */
const SHORTEST_BEGINNING = 3;
/** The zeros of other digits: Arabic, Persian, Devanagari, Bengali, Thai, full width. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];
/** Thai years count from the death of Buddha. */
const BUDDHIST = 543;
/** Years of other calendars are not read as ours. */
const FIRST_YEAR = 1500;
const LAST_YEAR = 2199;

const NAME = String.raw`(?<name>[\p{L}\p{M}][\p{L}\p{M}.׳]{1,14})`;
const WRITTEN = [
  /(?<!\d)(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?!\d)/,
  /(?<!\d)(?<year>\d{4})\s?[年년]\s?(?<month>\d{1,2})\s?[月월]\s?(?<day>\d{1,2})\s?[日일]/,
  /(?<!\d)(?<year>\d{4})(?:\.\s?|\/)(?<month>\d{1,2})(?:\.\s?|\/)(?<day>\d{1,2})(?!\d)/,
  /(?<!\d)(?<day>\d{1,2})\.\s?(?<month>\d{1,2})\.\s?(?<year>\d{4})(?!\d)/,
  /(?<!\d)(?<month>\d{1,2})\/(?<day>1[3-9]|2\d|3[01])\/(?<year>\d{4})(?!\d)/,
  /(?<!\d)(?<day>1[3-9]|2\d|3[01])\/(?<month>\d{1,2})\/(?<year>\d{4})(?!\d)/,
  /(?<!\d)(?<day>\d{1,2})\s+tháng\s+(?<month>\d{1,2}),?\s+(?:năm\s+)?(?<year>\d{4})(?!\d)/iu,
  new RegExp(
    String.raw`(?<![\d\p{L}])(?<day>\d{1,2})(?:\.|st|nd|rd|th|er|º|ª)?\s+(?:de\s+|of\s+|d['’]|ב)?${NAME}[,،]?\s+(?:de\s+|del\s+)?(?<year>\d{4})(?!\d)`,
    'u',
  ),
  new RegExp(String.raw`(?<!\p{L})${NAME}\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})(?!\d)`, 'u'),
  new RegExp(String.raw`(?<!\d)(?<year>\d{4})(?:\.|\sm\.)?\s+${NAME}\s+(?<day>\d{1,2})(?!\d)`, 'u'),
];

/**
 * The first date in a text as ISO 8601; empty where none is written so that it can be read in one way only.
 *
 * @param language of the text, BCP 47; empty where it is not known
 */
export function dateIn(text: string, language: string): string {
  const line = text.slice(0, 400).replace(/[^\P{Nd}\d]/gu, latinDigit);
  for (const form of WRITTEN) {
    const found = form.exec(line)?.groups;
    if (!found) continue;
    const { name } = found;
    const month = name === undefined ? Number(found.month) : monthOf(name, language);
    const day = Number(found.day);
    const written = Number(found.year);
    const year = written > LAST_YEAR && /^th\b/i.test(language) ? written - BUDDHIST : written;
    if (month < 1 || month > 12 || day < 1 || day > 31 || year < FIRST_YEAR || year > LAST_YEAR) continue;
    return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  }
  return '';
}

function latinDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const zero = ZEROS.find((first) => code >= first && code < first + 10);
  return zero === undefined ? digit : String(code - zero);
}

/** 1 to 12; 0 for other words. */
function monthOf(written: string, language: string): number {
  const [own = ''] = language.toLowerCase().split('-');
  const name = plainMonth(written);
  for (const each of new Set([own, ...USUAL])) {
    const months = monthNames(each);
    const exact = months.get(name);
    if (exact !== undefined) return exact;
    if (name.length < SHORTEST_BEGINNING) continue;
    const begun = new Set([...months].filter(([whole]) => whole.startsWith(name)).map(([, month]) => month));
    if (begun.size === 1) return [...begun][0] ?? 0;
  }
  return 0;
}
