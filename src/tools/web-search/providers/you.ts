import { z } from 'zod';
import { serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { documentedLanguage } from '../remote/language-codes.ts';
import { searchWith } from '../remote/search-service.ts';

const page = pageSchema({ texts: ['description', 'snippets'], dates: ['page_age'], maxTexts: 2 });

const failure = z.object({
  detail: z.string().nullish(),
  message: z.string().nullish(),
  error: z.string().nullish(),
});

/** You.com, `POST /v1/search` (https://you.com/docs/api-reference/search/v1-search-post). */
export const createSearch = searchWith({
  request({ text, limit, timeRange, country, filters }, options) {
    const { allowedDomains: allowed, blockedDomains: blocked } = filters;
    const language = options.language && documentedLanguage(options.language);
    return {
      url: serviceUrl('https://ydc-index.io/v1/search', options.url),
      headers: { 'x-api-key': options.api_key ?? '' },
      json: {
        query: text.slice(0, 400),
        count: Math.min(limit, 100),
        ...(timeRange ? { freshness: timeRange } : {}),
        ...(allowed.length > 0 ? { include_domains: allowed.slice(0, 500) } : {}),
        // The API accepts only one of the two lists; blocked domains are filtered here anyway.
        ...(blocked.length > 0 && allowed.length === 0 ? { exclude_domains: blocked.slice(0, 500) } : {}),
        ...(country ? { country } : {}),
        ...(language ? { language: language.toUpperCase() } : {}),
      },
    };
  },
  pages: z
    .object({ results: z.object({ web: z.array(page).nullish(), news: z.array(page).nullish() }) })
    .transform(({ results: { web, news } }) => [...(web ?? []), ...(news ?? [])]),
  refusal({ body }) {
    const { detail, message, error } = failure.safeParse(body).data ?? {};
    return { detail: detail ?? message ?? error ?? '' };
  },
});
