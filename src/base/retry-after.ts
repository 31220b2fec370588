/** For a longer `Retry-After` the official SDKs do not wait, but retry after half a second. */
export const MAX_SDK_RETRY_MS = 60_000;

/**
 * The wait that a `Retry-After` header names (RFC 9110 section 10.2.3: seconds or a date), in milliseconds; undefined if
 * there is none. A date is by the sender's clock, which its `Date` header tells.
 */
export function waitOfHeader(value: unknown, date: unknown, now = Date.now()): number | undefined {
  if (typeof value !== 'string') return undefined;
  if (/^\s*\d{1,12}(\.\d{1,9})?\s*$/.test(value)) return Math.ceil(Number(value) * 1000);
  // `Date.parse` takes "-1" for a month.
  const until = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  const sent = Date.parse(String(date));
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(sent) ? now : sent));
}
