import type { SearchQuery } from '../search-provider.ts';

/** How many domains fit into a query; results are filtered afterwards anyway. */
const MAX_DOMAINS = 6;

/** A query with `site:` operators, within the length and number of words that a service accepts. */
export function queryWithSites({ text, filters }: SearchQuery, limits: { length: number; words: number }): string {
  const allowed = filters.allowedDomains.slice(0, MAX_DOMAINS).map((domain) => `site:${domain}`);
  const blocked = filters.blockedDomains.slice(0, MAX_DOMAINS).map((domain) => `-site:${domain}`);
  const sites = filters.allowedDomains.length <= MAX_DOMAINS ? allowed.join(' OR ') : '';
  const operators = [allowed.length > 1 && sites ? `(${sites})` : sites, ...blocked].filter(Boolean).join(' ');
  const room = limits.length - operators.length - 1;
  const words = text.split(' ').slice(0, limits.words - operators.split(' ').length);
  const query = words.join(' ').slice(0, Math.max(room, 40));
  return operators === '' ? query : `${query} ${operators}`;
}
