import { z } from 'zod';
import { SearchFailure, type SearchProvider } from '../search-provider.ts';
import { askService, failureOf, type RemoteSearchOptions, unexpectedAnswer } from './ask-service.ts';
import { toHits } from './hits.ts';
import { queryWithSites } from './query-text.ts';

const answer = z.object({
  results: z.array(z.object({ url: z.string().nullish(), title: z.string().nullish(), content: z.string().nullish() })),
  /** Pairs of engine and reason. */
  unresponsive_engines: z.array(z.array(z.unknown())).default([]),
});

/**
 * SearXNG, `GET <instance>/search?format=json` (https://docs.searxng.org/dev/search_api.html). An instance without
 * `json` in its `search.formats` answers 403.
 */
export function createSearxng(options: RemoteSearchOptions & { url: string }): SearchProvider {
  return {
    name: 'searxng',
    cacheable: true,
    async search(query, { signal }) {
      const url = new URL(options.url);
      if (!url.pathname.endsWith('/search')) url.pathname = `${url.pathname.replace(/\/$/, '')}/search`;
      url.searchParams.set('q', queryWithSites(query, { length: 400, words: 60 }));
      url.searchParams.set('format', 'json');
      const headers: Record<string, string> =
        options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
      const response = await askService(options, { url, headers }, { signal });
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
      const found = results.map(({ url, title, content }) => ({
        url: url ?? '',
        title: title ?? '',
        texts: [content],
      }));
      return { hits: toHits(found, query.limit) };
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
