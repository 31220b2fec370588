import { monthNames, plainMonth } from '../../../text/month-names.ts';

/** Languages whose month names are tried after those of the page's language. */
const COMMON_LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ru', 'pl', 'sv'];
/** Shorter abbreviations of a month may be other words. */
const MIN_ABBREVIATION = 3;
/** The zeros of other scripts: Arabic, Persian, Devanagari, Bengali, Thai, full width. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];
/** Thai years count from the death of Buddha. */
const BUDDHIST_OFFSET = 543;
/** Years outside of these belong to other calendars. */
const FIRST_YEAR = 1500;
const LAST_YEAR = 2199;

const NAME = String.raw`(?<name>[\p{L}\p{M}][\p{L}\p{M}.׳]{1,14})`;
const FORMS = [
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
 * The first date in a text as ISO 8601; empty if the text has no unambiguous date.
 *
 * @param language of the text, BCP 47; empty if unknown
 */
export function dateIn(text: string, language: string): string {
  const line = text.slice(0, 400).replace(/[^\P{Nd}\d]/gu, latinDigit);
  for (const form of FORMS) {
    const found = form.exec(line)?.groups;
    if (!found) continue;
    const { name } = found;
    const month = name === undefined ? Number(found.month) : monthOf(name, language);
    const day = Number(found.day);
    const written = Number(found.year);
    const year = written > LAST_YEAR && /^th\b/i.test(language) ? written - BUDDHIST_OFFSET : written;
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

/** The number of a month, 1 to 12; 0 for any other word. */
function monthOf(value: string, language: string): number {
  const [pageLanguage = ''] = language.toLowerCase().split('-');
  const name = plainMonth(value);
  for (const candidate of new Set([pageLanguage, ...COMMON_LANGUAGES])) {
    const months = monthNames(candidate);
    const exact = months.get(name);
    if (exact !== undefined) return exact;
    if (name.length < MIN_ABBREVIATION) continue;
    const matches = new Set([...months].filter(([full]) => full.startsWith(name)).map(([, month]) => month));
    if (matches.size === 1) return [...matches][0] ?? 0;
  }
  return 0;
}
