/** Longer addresses are of no use, in UTF-16 code units. */
const LONGEST = 4000;

/**
 * The address of a page that a service names, safe to show; undefined if it is no web address, or has a user name, because
 * `https://bank.example@evil.example` reads like another one. Invisible characters, which may reverse its text, are encoded.
 */
export function pageAddress(written: string): string | undefined {
  const url = written.length > LONGEST ? null : URL.parse(written);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return /\p{C}/u.test(written) ? url.href : written;
}
