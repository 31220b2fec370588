import { z } from 'zod';
import type { SearchFailureKind, SearchProvider } from '../search-provider.ts';
import { askService, failureOf, type RemoteSearchOptions, serviceUrl, unexpectedAnswer } from './ask-service.ts';
import { toHits } from './hits.ts';
import { queryWithSites } from './query-text.ts';

const answer = z.object({
  searchParameters: z.unknown(),
  organic: z
    .array(
      z.object({
        link: z.string(),
        title: z.string().nullish(),
        snippet: z.string().nullish(),
        date: z.string().nullish(),
      }),
    )
    .default([]),
});

const failure = z.object({ message: z.string() });

/** Serper, `POST /search` (https://serper.dev): results of Google. */
export function createSerper(options: RemoteSearchOptions): SearchProvider {
  return {
    name: 'serper',
    cacheable: true,
    async search(query, { signal }) {
      const response = await askService(
        options,
        {
          url: serviceUrl('https://google.serper.dev/search', options.url),
          headers: { 'x-api-key': options.apiKey ?? '' },
          json: { q: queryWithSites(query, { length: 2000, words: 60 }), num: Math.min(query.limit, 20) },
        },
        { signal },
      );
      const message = failure.safeParse(response.body).data?.message;
      if (response.status !== 200) {
        throw failureOf(response, { known: kindOf(message ?? ''), detail: message, apiKey: options.apiKey });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success || parsed.data.searchParameters === undefined) throw unexpectedAnswer();
      const found = parsed.data.organic.map(({ link, title, snippet, date }) => ({
        url: link,
        title: title ?? '',
        texts: [date, snippet],
      }));
      return { hits: toHits(found, query.limit) };
    },
  };
}

/** An empty account answers 400 like a bad query; only the text tells. */
function kindOf(message: string): SearchFailureKind | undefined {
  return /credits/i.test(message) ? 'quota_exceeded' : undefined;
}
