import { stripMarkup } from '../../text/html-text.ts';
import type { SearchHit } from '../search-provider.ts';

const MAX_SNIPPET = 500;

/** A hit from a service's words: markup and entities removed, nothing but http(s) addresses. */
export function toHits(
  found: readonly { url: string; title: string; texts: readonly (string | null | undefined)[] }[],
  limit: number,
): SearchHit[] {
  const hits = found.flatMap(({ url, title, texts }): SearchHit[] => {
    const parsed = URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol)) return [];
    const snippet = texts
      .map((text) => stripMarkup(text ?? ''))
      .filter(Boolean)
      .join(' … ');
    return [{ url, title: stripMarkup(title) || parsed.host, snippet: shorten(snippet) }];
  });
  return hits.slice(0, limit);
}

function shorten(text: string): string {
  if (text.length <= MAX_SNIPPET) return text;
  const cut = text.lastIndexOf(' ', MAX_SNIPPET);
  return `${text.slice(0, cut > MAX_SNIPPET / 2 ? cut : MAX_SNIPPET).replace(/[\ud800-\udbff]$/, '')} …`;
}
