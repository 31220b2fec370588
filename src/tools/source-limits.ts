import { matchesHost } from '../base/hosts.ts';

/** Where and from when a request lets its run search and read. A domain includes its subdomains. */
export interface SourceLimits {
  /** Empty: all domains. */
  allowedDomains: readonly string[];
  blockedDomains?: readonly string[] | undefined;
  /** The first and the last day of publication, such as `2024-03-31`, both inclusive. */
  after?: string | undefined;
  before?: string | undefined;
}

/**
 * Whether a date of publication is within the limits. A bare year or month is within them if any of its days is; an
 * unknown date always is.
 */
export function isPublishedWithin(
  published: string | undefined,
  { after, before }: Pick<SourceLimits, 'after' | 'before'>,
): boolean {
  const date = published === undefined ? undefined : /^\d{4}(-\d{2}(-\d{2})?)?/.exec(published)?.[0];
  if (date === undefined) return true;
  const first = date + '-01-01'.slice(date.length - 4);
  const last = date + (date.length === 4 ? '-12-31' : '-31'.slice(date.length - 7));
  return (after === undefined || last >= after) && (before === undefined || first <= before);
}

/** The domains that both lists allow; an empty list allows all. Undefined if they have none in common. */
export function commonDomains(a: readonly string[], b: readonly string[]): string[] | undefined {
  if (a.length === 0 || b.length === 0) return [...a, ...b];
  const both = [...a.filter((domain) => matchesHost(domain, b)), ...b.filter((domain) => matchesHost(domain, a))];
  return both.length === 0 ? undefined : [...new Set(both)];
}
