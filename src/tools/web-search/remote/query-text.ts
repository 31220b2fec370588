import type { SearchQuery } from '../search-provider.ts';

/** Longer lists of domains do not fit into a query; results are filtered afterwards anyway. */
const MAX_DOMAINS = 6;

/** A query for engines that know `site:`, within the length and number of words that services accept. */
export function queryWithSites({ text, filters }: SearchQuery, limits: { length: number; words: number }): string {
  const wanted = filters.allowedDomains.slice(0, MAX_DOMAINS).map((domain) => `site:${domain}`);
  const unwanted = filters.blockedDomains.slice(0, MAX_DOMAINS).map((domain) => `-site:${domain}`);
  const all = filters.allowedDomains.length <= MAX_DOMAINS ? wanted.join(' OR ') : '';
  const operators = [wanted.length > 1 && all ? `(${all})` : all, ...unwanted].filter(Boolean).join(' ');
  const room = limits.length - operators.length - 1;
  const words = text.split(' ').slice(0, limits.words - operators.split(' ').length);
  const short = words.join(' ').slice(0, Math.max(room, 40));
  return operators === '' ? short : `${short} ${operators}`;
}
