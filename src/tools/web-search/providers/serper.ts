import { z } from 'zod';
import type { JsonObject } from '../../../base/json.ts';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import type { TimeRange } from '../published.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import { queryWithSites } from '../remote/query-text.ts';
import type { SearchFailureKind } from '../search-provider.ts';

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
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const response = await askService(
        options,
        {
          url: serviceUrl('https://google.serper.dev/search', options.url),
          headers: { 'x-api-key': options.api_key ?? '' },
          json: {
            q: queryWithSites(query, { length: 2000, words: 60 }),
            num: Math.min(query.limit, 20),
            ...(query.country ? { gl: query.country.toLowerCase() } : {}),
            ...rangeAndLanguage(query.timeRange, options.language),
          },
        },
        call,
      );
      const message = failure.safeParse(response.body).data?.message;
      if (response.status !== 200) {
        throw failureOf(response, { known: kindOf(message ?? ''), detail: message, apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success || parsed.data.searchParameters === undefined) throw unexpectedAnswer();
      const found = parsed.data.organic.map(({ link, title, snippet, date }) => ({
        url: link,
        title: title ?? '',
        texts: [snippet],
        published: date,
      }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}

/** An empty account answers 400 like a bad query; only the text tells. */
function kindOf(message: string): SearchFailureKind | undefined {
  return /credits/i.test(message) ? 'quota_exceeded' : undefined;
}

/** `tbs=qdr:w` is Google's own parameter for the past week; the others are named alike by their first letter. */
function rangeAndLanguage(range: TimeRange | undefined, language: string | undefined): JsonObject {
  return { ...(range ? { tbs: `qdr:${range[0]}` } : {}), ...(language ? { hl: language } : {}) };
}
