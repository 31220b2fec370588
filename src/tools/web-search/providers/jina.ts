import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { askService, failureOf, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { hitsInRange, toHits } from '../remote/hits.ts';
import { interfaceLanguage } from '../remote/language-codes.ts';
import { queryWithSites } from '../remote/query-text.ts';

const answer = z.object({
  data: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      description: z.string().nullish(),
      date: z.string().nullish(),
    }),
  ),
});

const failure = z.object({ name: z.string().nullish(), message: z.string().nullish() });

/**
 * Jina Search, `GET https://s.jina.ai/?q=` (https://jina.ai/reader). Results without the text of their pages: reading
 * them is another tool's work.
 */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const url = serviceUrl('https://s.jina.ai/', options.url);
      url.searchParams.set('q', queryWithSites(query, { length: 1000, words: 60 }));
      url.searchParams.set('num', String(Math.min(query.limit, 20)));
      if (query.country) url.searchParams.set('gl', query.country.toLowerCase());
      if (options.language) url.searchParams.set('hl', interfaceLanguage(options.language));
      const headers = { authorization: `Bearer ${options.api_key ?? ''}`, 'x-respond-with': 'no-content' };
      const response = await askService(options, { url, headers }, call);
      if (response.status !== 200) {
        const { name, message } = failure.safeParse(response.body).data ?? {};
        // Nothing found is an error in its words.
        if (response.status === 422 && /no search results/i.test(message ?? '')) return { hits: [] };
        throw failureOf(response, { detail: message ?? name ?? '', apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = parsed.data.data.map(({ url, title, description, date }) => ({
        url,
        title,
        texts: [description],
        published: date,
      }));
      const { timeRange } = query;
      if (timeRange) {
        return hitsInRange(found, { ...query, timeRange }, { service: 'Jina', asked: undefined, now: options.now() });
      }
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}
