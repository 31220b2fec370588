import { z } from 'zod';
import { type ServiceAnswer, serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { interfaceLanguage } from '../remote/language-codes.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { searchWith } from '../remote/search-service.ts';

const page = pageSchema({ texts: ['description'], dates: ['date'] });

const failure = z.object({ name: z.string().nullish(), message: z.string().nullish() });

/** Jina reports a search without results as an error, with `data: null`. */
const nothing = z.object({ message: z.string().regex(/no search results/i) }).transform(() => []);

/** Jina Search, `GET https://s.jina.ai/?q=` (https://jina.ai/reader), without the text of the pages. */
export const createSearch = searchWith({
  request(query, options) {
    const url = serviceUrl('https://s.jina.ai/', options.url);
    url.searchParams.set('q', queryWithSites(query, { length: 1000, words: 60 }));
    url.searchParams.set('num', String(Math.min(query.limit, 20)));
    if (query.country) url.searchParams.set('gl', query.country.toLowerCase());
    if (options.language) url.searchParams.set('hl', interfaceLanguage(options.language));
    return { url, headers: { authorization: `Bearer ${options.api_key ?? ''}`, 'x-respond-with': 'no-content' } };
  },
  pages: z.union([z.object({ data: z.array(page) }).transform(({ data }) => data), nothing]),
  refuses: (answer) => answer.status !== 200 && !isNothing(answer),
  refusal({ body }) {
    const { name, message } = failure.safeParse(body).data ?? {};
    return { detail: message ?? name ?? '' };
  },
  ranges: { service: 'Jina', substitute: () => undefined },
});

function isNothing({ status, body }: ServiceAnswer): boolean {
  return status === 422 && nothing.safeParse(body).success;
}
