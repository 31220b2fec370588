/** How months are written: alone, and beside a day, which changes their ending in many languages. */
const FORMS: readonly Intl.DateTimeFormatOptions[] = [
  { month: 'long' },
  { month: 'short' },
  { month: 'long', day: 'numeric' },
  { month: 'short', day: 'numeric' },
];
/** The names by language. */
const cache = new Map<string, ReadonlyMap<string, number>>();

/** The full and short names of months in a language, normalised by `plainMonth`; none for an unknown language. */
export function monthNames(language: string): ReadonlyMap<string, number> {
  const cached = cache.get(language);
  if (cached) return cached;
  const names = new Map<string, number>();
  if (/^[a-z]{2,3}$/.test(language) && Intl.DateTimeFormat.supportedLocalesOf(language).length > 0) {
    for (const form of FORMS) {
      const format = new Intl.DateTimeFormat(language, { ...form, calendar: 'gregory', timeZone: 'UTC' });
      for (let month = 1; month <= 12; month++) {
        const parts = format.formatToParts(Date.UTC(2024, month - 1, 3));
        const name = plainMonth(parts.find(({ type }) => type === 'month')?.value ?? '');
        // The longer forms come first and win: `mar` may be short for two months.
        if (name !== '' && !names.has(name)) names.set(name, month);
      }
    }
    cache.set(language, names);
  }
  return names;
}

/** Normalises the name of a month: lower case, without dots and prepositions. */
export function plainMonth(name: string): string {
  return name
    .replace(/[.׳]/g, '')
    .replace(/^(?:de\s|d['’])/, '')
    .toLowerCase();
}
