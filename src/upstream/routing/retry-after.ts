import { waitOfHeader } from '../../base/retry-after.ts';

/** Headers of an answer; names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Headers besides `retry-after` in which providers say how long to wait, as a duration or in seconds. */
const RESET_HEADERS = ['x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'] as const;

/**
 * How long a provider asks us to wait, in milliseconds: `retry-after-ms`, `Retry-After`, or the rate-limit
 * reset headers of OpenAI and Groq (`1s`, `6m0s`, `350ms`) when `limited` says that the answer was a 429. Undefined where
 * no header is usable.
 */
export function retryAfterMs(headers: AnswerHeaders, now: number, limited = false): number | undefined {
  const ms = headers['retry-after-ms'];
  if (typeof ms === 'string' && /^\s*\d{1,12}(\.\d{1,9})?\s*$/.test(ms)) return Math.ceil(Number(ms));
  const wait = waitOfHeader(headers['retry-after'], headers.date, now);
  if (wait !== undefined || !limited) return wait;
  const exhausted = RESET_HEADERS.filter((name) => headers[name.replace('reset', 'remaining')] === '0');
  const waits = exhausted.map((name) => durationMs(String(headers[name] ?? ''))).filter((wait) => wait !== undefined);
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A duration in the words of OpenAI and Groq, in milliseconds. */
export function durationMs(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  let total = 0;
  let end = 0;
  for (const [part, amount, unit = ''] of text.matchAll(/(\d{1,12}(?:\.\d{1,9})?)(ms|h|m|s)/gy)) {
    total += Number(amount) * (UNIT_MS[unit] ?? 0);
    end += part.length;
  }
  return end > 0 && end === text.length ? Math.ceil(total) : undefined;
}
