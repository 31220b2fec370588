import { z } from 'zod';
import { startOf } from '../published.ts';
import { serviceUrl } from '../remote/ask-service.ts';
import { searchWith } from '../remote/search-service.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const page = z
  .object({
    url: z.string(),
    title: z.string().nullish(),
    publishedDate: z.string().nullish(),
    highlights: z.array(z.string()).nullish(),
    text: z.string().nullish(),
  })
  .transform(({ url, title, publishedDate, highlights, text }) => ({
    url,
    title,
    texts: highlights && highlights.length > 0 ? highlights : [text?.slice(0, 2000)],
    published: publishedDate,
  }));

const failure = z.object({ error: z.string().nullish(), tag: z.string().nullish() });

const KINDS: Readonly<Record<string, SearchFailureKind>> = {
  INVALID_API_KEY: 'unauthorized',
  NO_MORE_CREDITS: 'quota_exceeded',
  API_KEY_BUDGET_EXCEEDED: 'quota_exceeded',
};

/** Exa, `POST /search` (https://docs.exa.ai/reference/search). */
export const createSearch = searchWith({
  request({ text, limit, timeRange, country, filters }, options) {
    const { allowedDomains: allowed, blockedDomains: blocked } = filters;
    return {
      url: serviceUrl('https://api.exa.ai/search', options.url),
      headers: { 'x-api-key': options.api_key ?? '' },
      json: {
        query: text.slice(0, 2000),
        type: 'auto',
        numResults: Math.min(limit, 100),
        ...(allowed.length > 0 ? { includeDomains: allowed.slice(0, 1000) } : {}),
        ...(blocked.length > 0 ? { excludeDomains: blocked.slice(0, 1000) } : {}),
        ...(timeRange ? { startPublishedDate: `${startOf(timeRange, options.now())}T00:00:00.000Z` } : {}),
        ...(country ? { userLocation: country } : {}),
        contents: { highlights: { maxCharacters: 500, query: text.slice(0, 400) } },
      },
    };
  },
  pages: z.object({ results: z.array(page) }).transform(({ results }) => results),
  refusal({ body }) {
    const { error, tag } = failure.safeParse(body).data ?? {};
    return { kind: KINDS[tag ?? ''], detail: error ?? tag ?? '' };
  },
});
