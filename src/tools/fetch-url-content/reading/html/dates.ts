/** Beginnings of the names of months in the languages that are read most. */
const MONTHS = [
  'jan|ene|gen|янв',
  'feb|fév|fev|фев',
  'mar|mär|maer|мар',
  'apr|avr|abr|апр',
  'may|mai|maj|mag|mei|май|мая',
  'jun|juin|giu|июн',
  'jul|juil|lug|июл',
  'aug|aoû|aou|ago|авг',
  'sep|set|сен',
  'oct|okt|out|ott|окт',
  'nov|ноя',
  'dec|dez|déc|dic|des|дек',
].map((names) => new RegExp(`^(?:${names})`, 'i'));

const WRITTEN = [
  /(?<!\d)(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?!\d)/,
  /(?<!\d)(?<year>\d{4})年(?<month>\d{1,2})月(?<day>\d{1,2})日/,
  /(?<!\d)(?<year>\d{4})[./](?<month>\d{1,2})[./](?<day>\d{1,2})(?!\d)/,
  /(?<!\d)(?<day>\d{1,2})\.\s?(?<month>\d{1,2})\.\s?(?<year>\d{4})(?!\d)/,
  /(?<!\d)(?<month>\d{1,2})\/(?<day>1[3-9]|2\d|3[01])\/(?<year>\d{4})(?!\d)/,
  /(?<!\d)(?<day>1[3-9]|2\d|3[01])\/(?<month>\d{1,2})\/(?<year>\d{4})(?!\d)/,
  /(?<![\d\p{L}])(?<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?\s+(?:de\s+|of\s+)?(?<name>\p{L}{3,10})\.?,?\s+(?:de\s+)?(?<year>\d{4})(?!\d)/u,
  /(?<!\p{L})(?<name>\p{L}{3,10})\.?\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?<year>\d{4})(?!\d)/u,
];

/** The first date in a text as ISO 8601; empty where none is written so that it can be read in one way only. */
export function dateIn(text: string): string {
  const line = text.slice(0, 400);
  for (const form of WRITTEN) {
    const found = form.exec(line)?.groups;
    if (!found) continue;
    const { name } = found;
    const month = name === undefined ? Number(found.month) : MONTHS.findIndex((each) => each.test(name)) + 1;
    const day = Number(found.day);
    if (month < 1 || month > 12 || day < 1 || day > 31) continue;
    return `${found.year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  }
  return '';
}
