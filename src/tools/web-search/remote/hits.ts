import { z } from 'zod';
import { pageAddress } from '../../../base/hosts.ts';
import { naturalEnd } from '../../../base/text.ts';
import { stripMarkup } from '../../text/strip-markup.ts';
import { isInRange, publishedDate, type TimeRange } from '../published.ts';
import type { SearchAnswer, SearchHit, SearchQuery } from '../search-provider.ts';

const MAX_SNIPPET = 500;
/** How much of a service's text is read, in characters. */
const MAX_TEXT = 5000;

/** A result as a service returns it. */
export interface FoundPage {
  url: string;
  title?: string | null | undefined;
  texts: readonly (string | null | undefined)[];
  /** A date in any of the forms that `publishedDate` reads. */
  published?: unknown;
}

const word = z.string().nullish();

/** The names of a page's fields. */
type PageFields = { url?: string; texts: readonly string[]; dates: readonly string[]; maxTexts?: number };

/** A schema that reads a page by a service's field names: up to `maxTexts` of each list of texts, and the first date. */
export function pageSchema({ url = 'url', texts, dates, maxTexts = 10 }: PageFields) {
  const parts = [...texts, ...dates].map((name) => [name, z.union([word, z.array(z.string())])] as const);
  return z.object({ ...Object.fromEntries(parts), title: word, [url]: z.string() }).transform((page): FoundPage => {
    const valuesOf = (name: string) => [page[name] ?? []].flat();
    const [title] = valuesOf('title');
    const [published] = dates.flatMap(valuesOf);
    const snippets = texts.flatMap((name) => valuesOf(name).slice(0, maxTexts));
    return { url: valuesOf(url).join(''), title, texts: snippets, published };
  });
}

/** The hits in a service's results: without markup and entities, and only those of web pages. */
export function toHits(found: readonly FoundPage[], options: { limit: number; now: number }): SearchHit[] {
  const hits: SearchHit[] = [];
  for (const { url: written, title, texts, published: date } of found) {
    if (hits.length >= options.limit) break;
    const url = pageAddress(written);
    if (url === undefined) continue;
    const snippet = texts
      .slice(0, 10)
      .map((text) => stripMarkup((text ?? '').slice(0, MAX_TEXT)))
      .filter(Boolean)
      .join(' … ');
    const published = publishedDate(date, options.now);
    hits.push({
      url,
      title: stripMarkup((title ?? '').slice(0, MAX_TEXT)) || new URL(url).host,
      snippet: shorten(snippet),
      ...(published ? { published } : {}),
    });
  }
  return hits;
}

/**
 * The hits of a service that cannot limit a search to the requested range: those known to be older are dropped, and a note
 * tells the model about those without a date. `searched`: the longer range that the service did search, if any.
 */
export function hitsInRange(
  found: readonly FoundPage[],
  query: SearchQuery & { timeRange: TimeRange },
  options: { service: string; searched: TimeRange | undefined; now: number },
): SearchAnswer {
  const { service, searched, now } = options;
  const all = toHits(found, { limit: found.length, now });
  const hits = all.filter(({ published }) => isInRange(published, query.timeRange, now)).slice(0, query.limit);
  const isUndated = hits.some(({ published }) => published === undefined);
  const age = searched === undefined ? 'of any age' : `of the past ${searched}`;
  const note = `${service} cannot search the past ${query.timeRange} alone: results without a date may be ${age}.`;
  return { hits, ...(isUndated ? { note } : {}) };
}

function shorten(text: string): string {
  if (text.length <= MAX_SNIPPET) return text;
  const end = naturalEnd(text, { from: MAX_SNIPPET / 2, limit: MAX_SNIPPET, marks: [' '] });
  return `${text.slice(0, end).trimEnd()} …`;
}
