import { z } from 'zod';
import { serviceUrl } from '../remote/ask-service.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { searchWith } from '../remote/search-service.ts';
import type { SearchFailureKind } from '../search-provider.ts';

/** Meta tags in which pages give their publication date. */
const DATE_TAGS = ['article:published_time', 'datepublished', 'og:published_time', 'date', 'dc.date', 'pubdate'];

const page = z
  .object({
    link: z.string(),
    title: z.string().nullish(),
    snippet: z.string().nullish(),
    pagemap: z.object({ metatags: z.array(z.record(z.string(), z.unknown())).nullish() }).nullish(),
  })
  .transform(({ link, title, snippet, pagemap }) => {
    const tags = pagemap?.metatags?.[0] ?? {};
    const published = DATE_TAGS.map((name) => tags[name]).find((value) => typeof value === 'string');
    return { url: link, title, texts: [snippet], published };
  });

const reasons = z.array(z.object({ reason: z.string().nullish() })).nullish();
const failure = z.object({ error: z.object({ message: z.string().nullish(), errors: reasons, details: reasons }) });

/** Google Programmable Search, `GET /customsearch/v1` (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list). */
export const createSearch = searchWith({
  request(query, options) {
    const url = serviceUrl('https://customsearch.googleapis.com/customsearch/v1', options.url);
    url.searchParams.set('cx', options.engine_id ?? '');
    url.searchParams.set('q', queryWithSites(query, { length: 2000, words: 32 }));
    url.searchParams.set('num', String(Math.min(query.limit, 10)));
    if (query.timeRange) url.searchParams.set('dateRestrict', `${query.timeRange[0]}1`);
    if (query.country) url.searchParams.set('gl', query.country.toLowerCase());
    if (options.language) url.searchParams.set('hl', options.language);
    // The key goes in a header because addresses end up in logs.
    return { url, headers: { 'x-goog-api-key': options.api_key ?? '' } };
  },
  // `items` is absent where there are no results.
  pages: z
    .object({ kind: z.string().optional(), items: z.array(page).optional() })
    .refine(({ kind, items }) => items ?? kind !== undefined)
    .transform(({ items = [] }) => items),
  refusal({ body }) {
    const { error } = failure.safeParse(body).data ?? {};
    const codes = [...(error?.errors ?? []), ...(error?.details ?? [])].map(({ reason }) => reason ?? '');
    return { kind: kindOf(codes), detail: error?.message ?? '' };
  },
});

/** A wrong key answers 400 just as a bad query does, and a used-up daily quota 429 just as a busy minute does. */
function kindOf(reasons: readonly string[]): SearchFailureKind | undefined {
  if (reasons.some((reason) => /API_KEY_INVALID|keyInvalid|keyExpired|accessNotConfigured/.test(reason))) {
    return 'unauthorized';
  }
  return reasons.some((reason) => /dailyLimit|quotaExceeded/.test(reason)) ? 'quota_exceeded' : undefined;
}
