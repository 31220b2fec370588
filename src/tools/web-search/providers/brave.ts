import { z } from 'zod';
import { serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { documentedLanguage } from '../remote/language-codes.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { searchWith } from '../remote/search-service.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const page = pageSchema({ texts: ['description', 'extra_snippets'], dates: ['page_age', 'age'], maxTexts: 2 });

const quota = z.object({ quota_limit: z.number().nullish(), quota_current: z.number().nullish() });
const failure = z.object({
  error: z.object({ code: z.string().nullish(), detail: z.string().nullish(), meta: quota.nullish() }),
});

/** Brave Search, `GET /res/v1/web/search` (https://api-dashboard.search.brave.com/app/documentation/web-search). */
export const createSearch = searchWith({
  request(query, options) {
    const url = serviceUrl('https://api.search.brave.com/res/v1/web/search', options.url);
    url.searchParams.set('q', queryWithSites(query, { length: 400, words: 50 }));
    url.searchParams.set('count', String(Math.min(query.limit, 20)));
    url.searchParams.set('text_decorations', 'false');
    if (query.timeRange) url.searchParams.set('freshness', `p${query.timeRange[0]}`);
    if (query.country) url.searchParams.set('country', query.country);
    const language = options.language && documentedLanguage(options.language);
    if (language) url.searchParams.set('search_lang', language);
    return { url, headers: { 'x-subscription-token': options.api_key ?? '' } };
  },
  pages: z
    .object({ web: z.object({ results: z.array(page) }).nullish(), query: z.unknown().optional() })
    // `web` is absent where there are no results: then the echo of the query tells the answer from another service's.
    .refine(({ web, query }) => web || query !== undefined)
    .transform(({ web }) => web?.results ?? []),
  refusal({ headers, body }) {
    const { error } = failure.safeParse(body).data ?? {};
    const kind = kindOf(error?.code ?? '', error?.meta ?? {});
    const retryAfterMs = kind === 'rate_limited' ? resetMs(headers) : undefined;
    return { kind, detail: error?.detail ?? error?.code ?? '', retryAfterMs };
  },
  restMs: (headers) => (firstOf(headers, 'x-ratelimit-remaining') === 0 ? resetMs(headers) : undefined),
});

function kindOf(code: string, meta: z.output<typeof quota>): SearchFailureKind | undefined {
  if (/TOKEN_INVALID|UNAUTHORIZED|SUBSCRIPTION_NOT_FOUND/.test(code)) return 'unauthorized';
  if (/QUOTA/.test(code)) return 'quota_exceeded';
  if (!/RATE_LIMITED/.test(code)) return undefined;
  const { quota_limit: limit, quota_current: current } = meta;
  return limit && current && current >= limit ? 'quota_exceeded' : 'rate_limited';
}

function resetMs(headers: Headers): number | undefined {
  const seconds = firstOf(headers, 'x-ratelimit-reset');
  return seconds === undefined ? undefined : seconds * 1000;
}

/** The limit per second, the first of several in `X-RateLimit-Remaining: 0, 1985` and `X-RateLimit-Reset: 1, 1419704`. */
function firstOf(headers: Headers, name: string): number | undefined {
  const value = Number.parseInt(headers.get(name) ?? '', 10);
  return Number.isFinite(value) ? value : undefined;
}
