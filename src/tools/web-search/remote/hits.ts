import { z } from 'zod';
import { stripMarkup } from '../../text/strip-markup.ts';
import { isInRange, publishedDate, type TimeRange } from '../published.ts';
import type { SearchAnswer, SearchHit, SearchQuery } from '../search-provider.ts';

const MAX_SNIPPET = 500;
/** What is looked at of a service's text, before and after its markup is taken out; in characters. */
const MAX_GIVEN = 5000;

/** A result in a service's own words. */
export interface FoundPage {
  url: string;
  title?: string | null | undefined;
  texts: readonly (string | null | undefined)[];
  /** A date in any of the forms that `publishedDate` reads. */
  published?: unknown;
}

const word = z.string().nullish();

/** Reads a page by what a service calls its parts. Of a list of texts `most` count, of several dates the first. */
export function pageNamed(names: { url?: string; texts: readonly string[]; dates: readonly string[]; most?: number }) {
  const { url = 'url', texts, dates, most = 10 } = names;
  const parts = [...texts, ...dates].map((name) => [name, z.union([word, z.array(z.string())])] as const);
  return z.object({ ...Object.fromEntries(parts), title: word, [url]: z.string() }).transform((page): FoundPage => {
    const told = (name: string) => [page[name] ?? []].flat();
    const [title] = told('title');
    const [published] = dates.flatMap(told);
    return { url: told(url).join(''), title, texts: texts.flatMap((name) => told(name).slice(0, most)), published };
  });
}

/** A hit from a service's words: markup and entities removed, nothing but http(s) addresses. */
export function toHits(found: readonly FoundPage[], options: { limit: number; now: number }): SearchHit[] {
  const hits: SearchHit[] = [];
  for (const { url, title, texts, published: given } of found) {
    if (hits.length >= options.limit) break;
    const parsed = url.length > 4000 ? null : URL.parse(url);
    if (!parsed || !/^https?:$/.test(parsed.protocol)) continue;
    const snippet = texts
      .slice(0, 10)
      .map((text) => stripMarkup((text ?? '').slice(0, MAX_GIVEN)))
      .filter(Boolean)
      .join(' … ');
    const published = publishedDate(given, options.now);
    hits.push({
      url,
      title: stripMarkup((title ?? '').slice(0, MAX_GIVEN)) || parsed.host,
      snippet: shorten(snippet),
      ...(published ? { published } : {}),
    });
  }
  return hits;
}

/**
 * The hits of a service that cannot limit a search to the range that is asked for: those whose date is known to be older
 * are left out, and the model is told of those without one. `asked`: the longer range that the service was given.
 */
export function hitsInRange(
  found: readonly FoundPage[],
  query: SearchQuery & { timeRange: TimeRange },
  options: { service: string; asked: TimeRange | undefined; now: number },
): SearchAnswer {
  const { service, asked, now } = options;
  const all = toHits(found, { limit: found.length, now });
  const hits = all.filter(({ published }) => isInRange(published, query.timeRange, now)).slice(0, query.limit);
  const isUndated = hits.some(({ published }) => published === undefined);
  const from = asked === undefined ? 'of any age' : `of the past ${asked}`;
  const note = `${service} cannot search the past ${query.timeRange} alone: results without a date may be ${from}.`;
  return { hits, ...(isUndated ? { note } : {}) };
}

function shorten(text: string): string {
  if (text.length <= MAX_SNIPPET) return text;
  const cut = text.lastIndexOf(' ', MAX_SNIPPET);
  return `${text.slice(0, cut > MAX_SNIPPET / 2 ? cut : MAX_SNIPPET).replace(/[\ud800-\udbff]$/, '')} …`;
}
