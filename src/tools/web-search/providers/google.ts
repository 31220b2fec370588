import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import { queryWithSites } from '../remote/query-text.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const answer = z.object({
  kind: z.string(),
  /** Absent if nothing was found. */
  items: z
    .array(
      z.object({
        link: z.string(),
        title: z.string().nullish(),
        snippet: z.string().nullish(),
        pagemap: z.object({ metatags: z.array(z.record(z.string(), z.unknown())).nullish() }).nullish(),
      }),
    )
    .default([]),
});

const failure = z.object({
  error: z.object({
    message: z.string().nullish(),
    status: z.string().nullish(),
    errors: z.array(z.object({ reason: z.string().nullish() })).nullish(),
    details: z.array(z.object({ reason: z.string().nullish() })).nullish(),
  }),
});

/** Meta tags in which pages say when they were published. */
const DATE_TAGS = ['article:published_time', 'datepublished', 'og:published_time', 'date', 'dc.date', 'pubdate'];

/** Google Programmable Search, `GET /customsearch/v1` (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const url = serviceUrl('https://customsearch.googleapis.com/customsearch/v1', options.url);
      url.searchParams.set('cx', options.engine_id ?? '');
      url.searchParams.set('q', queryWithSites(query, { length: 2000, words: 32 }));
      url.searchParams.set('num', String(Math.min(query.limit, 10)));
      if (query.timeRange) url.searchParams.set('dateRestrict', `${query.timeRange[0]}1`);
      if (query.country) url.searchParams.set('gl', query.country.toLowerCase());
      if (options.language) url.searchParams.set('hl', options.language);
      // In a header: addresses end up in logs.
      const headers = { 'x-goog-api-key': options.api_key ?? '' };
      const response = await askService(options, { url, headers }, call);
      if (response.status !== 200) {
        const { error } = failure.safeParse(response.body).data ?? {};
        const reasons = [...(error?.errors ?? []), ...(error?.details ?? [])].map(({ reason }) => reason ?? '');
        throw failureOf(response, { known: kindOf(reasons), detail: error?.message ?? '', apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = parsed.data.items.map(({ link, title, snippet, pagemap }) => {
        const tags = pagemap?.metatags?.[0] ?? {};
        const published = DATE_TAGS.map((name) => tags[name]).find((value) => typeof value === 'string');
        return { url: link, title: title ?? '', texts: [snippet], published };
      });
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}

/** A wrong key answers 400 like a bad query, and an exhausted day 429 like a busy minute. */
function kindOf(reasons: readonly string[]): SearchFailureKind | undefined {
  if (reasons.some((reason) => /API_KEY_INVALID|keyInvalid|keyExpired|accessNotConfigured/.test(reason))) {
    return 'unauthorized';
  }
  return reasons.some((reason) => /dailyLimit|quotaExceeded/.test(reason)) ? 'quota_exceeded' : undefined;
}
