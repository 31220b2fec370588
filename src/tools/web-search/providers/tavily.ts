import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const answer = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

const failure = z.object({ detail: z.union([z.string(), z.object({ error: z.string() })]) });

/** Tavily's own status codes: 432 is the plan's limit, 433 the one of pay-as-you-go. */
const KINDS: Readonly<Record<number, SearchFailureKind>> = { 432: 'quota_exceeded', 433: 'quota_exceeded' };

/** Tavily, `POST /search` (https://docs.tavily.com/documentation/api-reference/endpoint/search). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const { filters } = query;
      const response = await askService(
        options,
        {
          url: serviceUrl('https://api.tavily.com/search', options.url),
          headers: { authorization: `Bearer ${options.api_key ?? ''}` },
          json: {
            query: query.text.slice(0, 400),
            max_results: Math.min(query.limit, 20),
            ...(query.timeRange ? { time_range: query.timeRange } : {}),
            ...(filters.allowedDomains.length > 0 ? { include_domains: filters.allowedDomains.slice(0, 300) } : {}),
            ...(filters.blockedDomains.length > 0 ? { exclude_domains: filters.blockedDomains.slice(0, 150) } : {}),
          },
        },
        call,
      );
      if (response.status !== 200) {
        const detail = failure.safeParse(response.body).data?.detail;
        const text = typeof detail === 'string' ? detail : detail?.error;
        throw failureOf(response, { known: KINDS[response.status], detail: text, apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = parsed.data.results.map(({ url, title, content, published_date }) => ({
        url,
        title: title ?? '',
        texts: [content],
        published: published_date,
      }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}
