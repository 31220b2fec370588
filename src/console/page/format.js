const LOCALE = navigator.language;
const whole = new Intl.NumberFormat(LOCALE);
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short' });
const time = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short' });
const second = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' });
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

export const number = (value) => whole.format(value);

/** Large numbers in short form: `12.4K`. */
export const compact = (value) => (Math.abs(value) < 10_000 ? whole.format(value) : short.format(value));

/** A number of things: `1 call`, `2 calls`. */
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;

export const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** Milliseconds as people say them: `0.4 s`, `12 s`, `3 m 20 s`, `1 h 5 m`. */
export function duration(ms) {
  if (ms < 9950) return `${(Math.max(0, ms) / 1000).toFixed(ms < 95 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} m` : `${minutes} m ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

/** Whole seconds: a run's own times are no finer. */
export function elapsed(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 10 ? `${seconds} s` : duration(seconds * 1000);
}

/** A time in Unix milliseconds, near ones relative. */
export function when(ms) {
  const seconds = Math.round((ms - Date.now()) / 1000);
  if (seconds > -45) return 'just now';
  if (seconds > -3600) return ago.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86_400) return ago.format(Math.round(seconds / 3600), 'hour');
  return day.format(ms);
}

/** Like `when`, under the heading of a day (any moment of it in Unix milliseconds), which is not repeated. */
export function whenOn(ms, dayShown) {
  const isOfDay = new Date(ms).toDateString() === new Date(dayShown).toDateString();
  return isOfDay && Date.now() - ms > 86_400_000 ? time.format(ms) : when(ms);
}

export const exactly = (ms) => day.format(ms);

/** With seconds, for events in quick succession. */
export const toTheSecond = (ms) => second.format(ms);

/** The day or month of a source as it gives it, without a time of day. */
export function published(text) {
  return /^\d{4}-\d\d(-\d\d)?(?=$|T)/.exec(text)?.[0] ?? line(text, 40);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** A size in bytes: `3.4 MB`. */
export function bytes(count) {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return `${number(at === 0 ? count : Math.round((count / 1000 ** at) * 10) / 10)} ${UNITS[at]}`;
}

/** An amount in the notation of its currency; an unknown currency is appended. */
export function money({ total, currency }) {
  const digits = total !== 0 && Math.abs(total) < 0.1 ? 4 : 2;
  try {
    const style = { style: 'currency', currency, minimumFractionDigits: 2, maximumFractionDigits: digits };
    return new Intl.NumberFormat(LOCALE, style).format(total);
  } catch {
    return `${total.toFixed(digits)} ${currency ?? ''}`.trim();
  }
}

/** Any value as a text: JSON if it is none. What models, tools and clients send may have any type. */
export function asText(value) {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** One line of a text, cut at `length` characters. */
export function line(text, length = 160) {
  const flat = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return flat.length > length ? `${startOf(flat, length - 1).trimEnd()}…` : flat;
}

/** The first characters of a text, without the half of one. */
export const startOf = (text, length) => text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** An address as people read it: host and path. */
export function placeOf(url) {
  if (url.startsWith('corpus:///')) return `documents / ${safeDecode(url.slice(10))}`;
  if (!URL.canParse(url)) return line(url, 80);
  const { host, pathname } = new URL(url);
  const path = pathname === '/' ? '' : safeDecode(pathname);
  return line(host.replace(/^www\./, '') + path, 90);
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address if it is a web address that may be opened, else undefined. */
export function openable(url) {
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? url : undefined;
}
