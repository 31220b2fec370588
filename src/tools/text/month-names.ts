/** How months are written: alone and beside a day, which changes their ending in many languages. */
const FORMS: readonly Intl.DateTimeFormatOptions[] = [
  { month: 'long' },
  { month: 'short' },
  { month: 'long', day: 'numeric' },
  { month: 'short', day: 'numeric' },
];
/** By language; there are as many as languages. */
const known = new Map<string, ReadonlyMap<string, number>>();

/** The names of months in a language, in full and shortened, as `plainMonth` writes them; none if it is not known. */
export function monthNames(language: string): ReadonlyMap<string, number> {
  const before = known.get(language);
  if (before) return before;
  const names = new Map<string, number>();
  if (/^[a-z]{2,3}$/.test(language) && Intl.DateTimeFormat.supportedLocalesOf(language).length > 0) {
    for (const form of FORMS) {
      const format = new Intl.DateTimeFormat(language, { ...form, calendar: 'gregory', timeZone: 'UTC' });
      for (let month = 1; month <= 12; month++) {
        const parts = format.formatToParts(Date.UTC(2024, month - 1, 3));
        const name = plainMonth(parts.find(({ type }) => type === 'month')?.value ?? '');
        // The first forms are the longer ones: `mar` may be short for two.
        if (name !== '' && !names.has(name)) names.set(name, month);
      }
    }
    known.set(language, names);
  }
  return names;
}

/** The name of a month without dots, the words that stand before some, and differences of capitals. */
export function plainMonth(name: string): string {
  return name
    .replace(/[.׳]/g, '')
    .replace(/^(?:de\s|d['’])/, '')
    .toLowerCase();
}
