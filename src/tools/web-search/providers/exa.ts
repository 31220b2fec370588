import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { startOf } from '../published.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const answer = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      publishedDate: z.string().nullish(),
      highlights: z.array(z.string()).nullish(),
      text: z.string().nullish(),
    }),
  ),
});

const failure = z.object({ error: z.string().nullish(), tag: z.string().nullish() });

const KINDS: Readonly<Record<string, SearchFailureKind>> = {
  INVALID_API_KEY: 'unauthorized',
  NO_MORE_CREDITS: 'quota_exceeded',
  API_KEY_BUDGET_EXCEEDED: 'quota_exceeded',
};

/** Exa, `POST /search` (https://docs.exa.ai/reference/search). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const { filters, timeRange } = query;
      const { allowedDomains: allowed, blockedDomains: blocked } = filters;
      const response = await askService(
        options,
        {
          url: serviceUrl('https://api.exa.ai/search', options.url),
          headers: { 'x-api-key': options.api_key ?? '' },
          json: {
            query: query.text.slice(0, 2000),
            type: 'auto',
            numResults: Math.min(query.limit, 100),
            ...(allowed.length > 0 ? { includeDomains: allowed.slice(0, 1000) } : {}),
            ...(blocked.length > 0 ? { excludeDomains: blocked.slice(0, 1000) } : {}),
            ...(timeRange ? { startPublishedDate: `${startOf(timeRange, options.now())}T00:00:00.000Z` } : {}),
            ...(query.country ? { userLocation: query.country } : {}),
            contents: { highlights: { maxCharacters: 500, query: query.text.slice(0, 400) } },
          },
        },
        call,
      );
      if (response.status !== 200) {
        const { error, tag } = failure.safeParse(response.body).data ?? {};
        throw failureOf(response, { known: KINDS[tag ?? ''], detail: error ?? tag ?? '', apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = parsed.data.results.map(({ url, title, publishedDate, highlights, text }) => ({
        url,
        title: title ?? '',
        texts: highlights && highlights.length > 0 ? highlights : [text?.slice(0, 2000)],
        published: publishedDate,
      }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}
