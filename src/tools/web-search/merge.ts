import { fuseByRank } from './local/ranking.ts';
import type { SearchHit } from './search-provider.ts';

/** Query parameters that only track where a click came from. */
const TRACKING =
  /^(utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid|dclid|yclid|twclid|igshid|mc_[ce]id|_hs(enc|mi)|srsltid|ref_src|cmpid|spm)$/i;

/** One form for all spellings of a page's address, for finding duplicates; not meant to be fetched. */
export function canonicalUrl(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return url.trim();
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return parsed.href.replace(/#.*$/s, '');
  const host = parsed.host.replace(/^(www|m|mobile)\./, '').replace(/\.$/, '');
  const parameters = [...parsed.searchParams].filter(([name]) => !TRACKING.test(name)).sort();
  const query = new URLSearchParams(parameters).toString();
  const path = parsed.pathname.replace(/\/(index\.(html?|php))?$/, '');
  return `${host}${path}${query === '' ? '' : `?${query}`}`;
}

/**
 * Merges the answers to several queries, best first. Each page appears once, as in the list that ranks it best, and its
 * score adds up over all lists that have it.
 */
export function mergeByRank(lists: readonly (readonly SearchHit[])[], limit: number): SearchHit[] {
  const ranked = lists.map((list) => {
    const byPage = Map.groupBy(list.entries(), ([, { url }]) => canonicalUrl(url));
    return [...byPage].flatMap(([page, [first]]) => (first ? [{ page, rank: first[0], hit: first[1] }] : []));
  });
  const better = (a: Ranked, b: Ranked): Ranked => {
    const [best, other] = b.rank < a.rank ? [b.hit, a.hit] : [a.hit, b.hit];
    const published = best.published ?? other.published;
    const hit = { ...best, snippet: best.snippet || other.snippet, ...(published && { published }) };
    return { ...a, rank: Math.min(a.rank, b.rank), hit };
  };
  return fuseByRank(ranked, { nameOf: ({ page }) => page, better })
    .slice(0, limit)
    .map(({ hit }) => hit);
}

/** A hit with its page, and its place in the list that ranks it best. */
interface Ranked {
  page: string;
  rank: number;
  hit: SearchHit;
}
