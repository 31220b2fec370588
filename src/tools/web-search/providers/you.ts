import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import { documentedLanguage } from '../remote/language-codes.ts';

const result = z.object({
  url: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  snippets: z.array(z.string()).nullish(),
  page_age: z.string().nullish(),
});
const answer = z.object({
  results: z.object({ web: z.array(result).nullish(), news: z.array(result).nullish() }),
});

const failure = z.object({
  detail: z.string().nullish(),
  message: z.string().nullish(),
  error: z.string().nullish(),
});

/** You.com, `POST /v1/search` (https://you.com/docs/api-reference/search/v1-search-post). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const { allowedDomains: allowed, blockedDomains: blocked } = query.filters;
      const language = options.language && documentedLanguage(options.language);
      const response = await askService(
        options,
        {
          url: serviceUrl('https://ydc-index.io/v1/search', options.url),
          headers: { 'x-api-key': options.api_key ?? '' },
          json: {
            query: query.text.slice(0, 400),
            count: Math.min(query.limit, 100),
            ...(query.timeRange ? { freshness: query.timeRange } : {}),
            ...(allowed.length > 0 ? { include_domains: allowed.slice(0, 500) } : {}),
            // The two lists exclude each other; what is blocked is filtered here anyway.
            ...(blocked.length > 0 && allowed.length === 0 ? { exclude_domains: blocked.slice(0, 500) } : {}),
            ...(query.country ? { country: query.country } : {}),
            ...(language ? { language: language.toUpperCase() } : {}),
          },
        },
        call,
      );
      if (response.status !== 200) {
        const { detail, message, error } = failure.safeParse(response.body).data ?? {};
        throw failureOf(response, { detail: detail ?? message ?? error ?? '', apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const { web, news } = parsed.data.results;
      const found = [...(web ?? []), ...(news ?? [])].map(({ url, title, description, snippets, page_age }) => ({
        url,
        title: title ?? '',
        texts: [description, ...(snippets ?? []).slice(0, 2)],
        published: page_age,
      }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}
