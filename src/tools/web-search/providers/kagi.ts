import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import { queryWithSites } from '../remote/query-text.ts';
import type { SearchFailureKind } from '../search-provider.ts';

/** Objects of type 0 are results; 1 is the list of related searches. */
const entry = z.object({
  t: z.number(),
  url: z.string().nullish(),
  title: z.string().nullish(),
  snippet: z.string().nullish(),
  published: z.string().nullish(),
});
const answer = z.object({ data: z.array(entry) });

const failure = z.object({ error: z.array(z.object({ code: z.number(), msg: z.string().nullish() })) });

const KINDS: Readonly<Record<number, SearchFailureKind>> = {
  1: 'rejected',
  2: 'unauthorized',
  100: 'quota_exceeded',
  101: 'quota_exceeded',
};

/**
 * Kagi Search, `GET /api/v0/search` (https://help.kagi.com/kagi/api/search.html). It documents no range of time; results
 * that are known to be older are left out afterwards.
 */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, { signal }) {
      const url = serviceUrl('https://kagi.com/api/v0/search', options.url);
      url.searchParams.set('q', queryWithSites(query, { length: 1000, words: 60 }));
      url.searchParams.set('limit', String(query.limit));
      const headers = { authorization: `Bot ${options.api_key ?? ''}` };
      const response = await askService(options, { url, headers }, { signal });
      const [error] = failure.safeParse(response.body).data?.error ?? [];
      if (response.status !== 200 || error) {
        const detail = error?.msg ?? '';
        throw failureOf(response, { known: KINDS[error?.code ?? -1], detail, apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = parsed.data.data
        .filter(({ t }) => t === 0)
        .map(({ url, title, snippet, published }) => ({
          url: url ?? '',
          title: title ?? '',
          texts: [snippet],
          published,
        }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}
