import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, unexpectedAnswer } from '../remote/ask-service.ts';
import { hitsInRange, toHits } from '../remote/hits.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { SearchFailure } from '../search-provider.ts';

const answer = z.object({
  results: z.array(
    z.object({
      url: z.string().nullish(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
  /** Pairs of engine and reason. */
  unresponsive_engines: z.array(z.array(z.unknown())).default([]),
});

/**
 * SearXNG, `GET <instance>/search?format=json` (https://docs.searxng.org/dev/search_api.html). An instance without
 * `json` in its `search.formats` answers 403. With `engines: [duckduckgo]` it is a way to DuckDuckGo, which has no search
 * API of its own.
 */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const url = new URL(options.url ?? '');
      if (!url.pathname.endsWith('/search')) url.pathname = `${url.pathname.replace(/\/$/, '')}/search`;
      url.searchParams.set('q', queryWithSites(query, { length: 400, words: 60 }));
      url.searchParams.set('format', 'json');
      const { timeRange } = query;
      // Of the documented ranges, a month is the shortest that holds a week.
      const asked = timeRange === 'week' ? 'month' : timeRange;
      if (asked) url.searchParams.set('time_range', asked);
      if (options.engines?.length) url.searchParams.set('engines', options.engines.join(','));
      if (options.language) url.searchParams.set('language', options.language);
      const headers: Record<string, string> =
        options.api_key === undefined ? {} : { authorization: `Bearer ${options.api_key}` };
      const response = await askService(options, { url, headers }, call);
      if (response.status === 403) {
        throw new SearchFailure(
          'unauthorized',
          'refuses JSON (HTTP 403): add json to search.formats in its settings.yml',
        );
      }
      if (response.status !== 200) throw failureOf(response, {});
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const { results, unresponsive_engines: silent } = parsed.data;
      if (results.length === 0 && silent.length > 0) throw silentEngines(silent);
      const found = results.map(({ url, title, content, publishedDate }) => ({
        url: url ?? '',
        title,
        texts: [content],
        published: publishedDate,
      }));
      if (timeRange && timeRange !== asked) {
        return hitsInRange(found, { ...query, timeRange }, { service: 'SearXNG', asked, now: options.now() });
      }
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}

/** No results because no engine answered is not the same as nothing found. */
function silentEngines(engines: readonly unknown[][]): SearchFailure {
  const names = engines.slice(0, 4).map(([name, reason]) => `${String(name)} (${String(reason)})`);
  const limited = engines.every(([, reason]) => /too many requests|captcha|suspended/i.test(String(reason)));
  return new SearchFailure(
    limited ? 'rate_limited' : 'unavailable',
    `got no answer from its engines: ${names.join(', ')}`,
  );
}
