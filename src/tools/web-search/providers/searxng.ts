import { z } from 'zod';
import { scalarText } from '../../../base/json.ts';
import type { TimeRange } from '../published.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { searchWith } from '../remote/search-service.ts';
import { SearchFailure } from '../search-provider.ts';

const page = z
  .object({
    url: z.string().nullish(),
    title: z.string().nullish(),
    content: z.string().nullish(),
    publishedDate: z.string().nullish(),
  })
  .transform(({ url, title, content, publishedDate }) => ({
    url: url ?? '',
    title,
    texts: [content],
    published: publishedDate,
  }));

/** Engines that did not answer, each with the reason. */
const unresponsive = z.array(z.array(z.unknown()));

/** `!!` before a word or alone: the instance would redirect to another search engine or to the first result. */
const REDIRECTING_BANG = /(?<!\S)!{2,}/g;

/**
 * SearXNG, `GET <instance>/search?format=json` (https://docs.searxng.org/dev/search_api.html). An instance without
 * `json` in its `search.formats` answers 403. With `engines: [duckduckgo]` it searches DuckDuckGo, which has no search
 * API of its own.
 */
export const createSearch = searchWith({
  request(query, options) {
    const url = new URL(options.url ?? '');
    if (!url.pathname.endsWith('/search')) url.pathname = `${url.pathname.replace(/\/$/, '')}/search`;
    const text = query.text.replaceAll(REDIRECTING_BANG, '');
    url.searchParams.set('q', queryWithSites({ ...query, text }, { length: 400, words: 60 }));
    url.searchParams.set('format', 'json');
    if (query.timeRange) url.searchParams.set('time_range', supportedRange(query.timeRange));
    if (options.engines?.length) url.searchParams.set('engines', options.engines.join(','));
    if (options.language) url.searchParams.set('language', options.language);
    return { url, ...(options.api_key && { headers: { authorization: `Bearer ${options.api_key}` } }) };
  },
  pages: z
    .object({ results: z.array(page), unresponsive_engines: unresponsive.default([]) })
    .transform(({ results, unresponsive_engines: silent }) => {
      if (results.length === 0 && silent.length > 0) throw silentEngines(silent);
      return results;
    }),
  refusal({ status }) {
    if (status !== 403) return {};
    throw new SearchFailure('unauthorized', 'refuses JSON (HTTP 403): add json to search.formats in its settings.yml');
  },
  ranges: { service: 'SearXNG', substitute: supportedRange },
});

/** The shortest documented range that includes this one: SearXNG has no week. */
function supportedRange(range: TimeRange): TimeRange {
  return range === 'week' ? 'month' : range;
}

/** The failure of a search without results because no engine answered. */
function silentEngines(engines: readonly unknown[][]): SearchFailure {
  const names = engines.slice(0, 4).map(([name, reason]) => `${scalarText(name)} (${scalarText(reason)})`);
  const limited = engines.every(([, reason]) => /too many requests|captcha|suspended/i.test(scalarText(reason)));
  return new SearchFailure(
    limited ? 'rate_limited' : 'unavailable',
    `got no answer from its engines: ${names.join(', ')}`,
  );
}
