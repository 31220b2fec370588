import type { SearchHit } from './search-provider.ts';

/** Query parameters that only track where a click came from. */
const TRACKING =
  /^(utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid|dclid|yclid|twclid|igshid|mc_[ce]id|_hs(enc|mi)|srsltid|ref_src|cmpid|spm)$/i;

/** Damping of reciprocal rank fusion; 60 is the value of the paper (Cormack et al., 2009). */
const RANK_OFFSET = 60;

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
  const merged = new Map<string, { hit: SearchHit; bestRank: number; score: number }>();
  for (const list of lists) {
    const seen = new Set<string>();
    for (const [rank, hit] of list.entries()) {
      const key = canonicalUrl(hit.url);
      if (seen.has(key)) continue;
      seen.add(key);
      const score = 1 / (RANK_OFFSET + rank);
      const known = merged.get(key);
      if (!known) merged.set(key, { hit, bestRank: rank, score });
      else {
        known.score += score;
        const snippet = known.hit.snippet || hit.snippet;
        const published = known.hit.published ?? hit.published;
        const best = rank < known.bestRank ? { ...hit, snippet: hit.snippet || snippet } : { ...known.hit, snippet };
        known.hit = published ? { ...best, published } : best;
        known.bestRank = Math.min(known.bestRank, rank);
      }
    }
  }
  const ranked = [...merged.values()].sort((a, b) => b.score - a.score);
  return ranked.slice(0, limit).map(({ hit }) => hit);
}
