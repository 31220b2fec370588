import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, retryAfter, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import { documentedLanguage } from '../remote/language-codes.ts';
import { queryWithSites } from '../remote/query-text.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const answer = z.object({
  /** Absent if nothing was found. */
  web: z
    .object({
      results: z.array(
        z.object({
          url: z.string(),
          title: z.string(),
          description: z.string().nullish(),
          extra_snippets: z.array(z.string()).nullish(),
          page_age: z.string().nullish(),
          age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
  query: z.unknown(),
});

const failure = z.object({
  error: z.object({
    code: z.string().nullish(),
    detail: z.string().nullish(),
    meta: z.object({ quota_limit: z.number().nullish(), quota_current: z.number().nullish() }).nullish(),
  }),
});

/** Brave Search, `GET /res/v1/web/search` (https://api-dashboard.search.brave.com/app/documentation/web-search). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const url = serviceUrl('https://api.search.brave.com/res/v1/web/search', options.url);
      url.searchParams.set('q', queryWithSites(query, { length: 400, words: 50 }));
      url.searchParams.set('count', String(Math.min(query.limit, 20)));
      url.searchParams.set('text_decorations', 'false');
      if (query.timeRange) url.searchParams.set('freshness', `p${query.timeRange[0]}`);
      if (query.country) url.searchParams.set('country', query.country);
      const language = options.language && documentedLanguage(options.language);
      if (language) url.searchParams.set('search_lang', language);
      const headers = { 'x-subscription-token': options.api_key ?? '' };
      const response = await askService(options, { url, headers }, call);
      const { resetMs, remaining } = rateLimit(response.headers);
      if (response.status !== 200) {
        const { error } = failure.safeParse(response.body).data ?? {};
        const known = kindOf(error?.code ?? '', error?.meta);
        const retryAfterMs = retryAfter(response.headers) ?? (known === 'rate_limited' ? resetMs : undefined);
        throw failureOf(response, {
          known,
          detail: error?.detail ?? error?.code ?? '',
          apiKey: options.api_key,
          retryAfterMs,
        });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = (parsed.data.web?.results ?? []).map(
        ({ url, title, description, extra_snippets, page_age, age }) => ({
          url,
          title,
          texts: [description, ...(extra_snippets ?? []).slice(0, 2)],
          published: page_age ?? age,
        }),
      );
      return {
        hits: toHits(found, { limit: query.limit, now: options.now() }),
        ...(remaining === 0 && resetMs !== undefined ? { restMs: resetMs } : {}),
      };
    },
  };
}

function kindOf(
  code: string,
  meta: { quota_limit?: number | null | undefined; quota_current?: number | null | undefined } | null | undefined,
): SearchFailureKind | undefined {
  if (/TOKEN_INVALID|UNAUTHORIZED|SUBSCRIPTION_NOT_FOUND/.test(code)) return 'unauthorized';
  if (/QUOTA/.test(code)) return 'quota_exceeded';
  if (!/RATE_LIMITED/.test(code)) return undefined;
  const { quota_limit: limit, quota_current: current } = meta ?? {};
  return limit && current && current >= limit ? 'quota_exceeded' : 'rate_limited';
}

/** `X-RateLimit-Remaining: 0, 1985` and `X-RateLimit-Reset: 1, 1419704`: the first of each is the limit per second. */
function rateLimit(headers: Headers): { resetMs: number | undefined; remaining: number | undefined } {
  const first = (name: string) => {
    const value = Number.parseInt(headers.get(name) ?? '', 10);
    return Number.isFinite(value) ? value : undefined;
  };
  const reset = first('x-ratelimit-reset');
  return { resetMs: reset === undefined ? undefined : reset * 1000, remaining: first('x-ratelimit-remaining') };
}
