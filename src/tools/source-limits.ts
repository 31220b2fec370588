import { matchesHost } from '../base/hosts.ts';

/** Where one request lets its run search and read. A domain means itself and everything below it. */
export interface SourceLimits {
  /** Empty: all domains. */
  allowedDomains: readonly string[];
  blockedDomains?: readonly string[] | undefined;
  /** The first and the last day of publication, `2024-03-31`, both included. */
  after?: string | undefined;
  before?: string | undefined;
}

/**
 * Whether something published then keeps to the limits. A date of which only the month or the year is known counts with
 * all its days; what has no known date stays.
 */
export function isPublishedWithin(published: string | undefined, { after, before }: SourceLimits): boolean {
  const date = published === undefined ? undefined : /^\d{4}(-\d{2}(-\d{2})?)?/.exec(published)?.[0];
  if (date === undefined) return true;
  const first = date + '-01-01'.slice(date.length - 4);
  const last = date + (date.length === 4 ? '-12-31' : '-31'.slice(date.length - 7));
  return (after === undefined || last >= after) && (before === undefined || first <= before);
}

/** What both lists allow; an empty list allows all. Undefined where nothing is left. */
export function commonDomains(one: readonly string[], other: readonly string[]): string[] | undefined {
  if (one.length === 0 || other.length === 0) return [...one, ...other];
  const both = [
    ...one.filter((domain) => matchesHost(domain, other)),
    ...other.filter((domain) => matchesHost(domain, one)),
  ];
  return both.length === 0 ? undefined : [...new Set(both)];
}
