import { z } from 'zod';
import { serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { queryWithSites } from '../remote/query-text.ts';
import { searchWith } from '../remote/search-service.ts';

const page = pageSchema({ url: 'link', texts: ['snippet'], dates: ['date'] });

const failure = z.object({ message: z.string() });

/** Serper, `POST /search` (https://serper.dev): results of Google. */
export const createSearch = searchWith({
  request: (query, options) => ({
    url: serviceUrl('https://google.serper.dev/search', options.url),
    headers: { 'x-api-key': options.api_key ?? '' },
    json: {
      q: queryWithSites(query, { length: 2000, words: 60 }),
      num: Math.min(query.limit, 20),
      ...(query.country ? { gl: query.country.toLowerCase() } : {}),
      // Google's own parameter: `qdr:w` is the past week, and other ranges also go by their first letter.
      ...(query.timeRange ? { tbs: `qdr:${query.timeRange[0]}` } : {}),
      ...(options.language ? { hl: options.language } : {}),
    },
  }),
  pages: z
    .object({ searchParameters: z.unknown().optional(), organic: z.array(page).optional() })
    .refine(({ searchParameters, organic }) => organic ?? searchParameters !== undefined)
    .transform(({ organic = [] }) => organic),
  refusal({ body }) {
    const detail = failure.safeParse(body).data?.message;
    // An account without credits answers 400 like a bad query, so only the message tells them apart.
    return { kind: /credits/i.test(detail ?? '') ? 'quota_exceeded' : undefined, detail };
  },
});
