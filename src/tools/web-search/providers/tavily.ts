import { z } from 'zod';
import { serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { searchWith } from '../remote/search-service.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const page = pageSchema({ texts: ['content'], dates: ['published_date'] });

const failure = z.object({ detail: z.union([z.string(), z.object({ error: z.string() })]) });

/** Tavily's own status codes: 432 is the limit of the plan, 433 that of pay-as-you-go. */
const KINDS: Readonly<Record<number, SearchFailureKind>> = { 432: 'quota_exceeded', 433: 'quota_exceeded' };

/** Tavily, `POST /search` (https://docs.tavily.com/documentation/api-reference/endpoint/search). */
export const createSearch = searchWith({
  request: ({ text, limit, timeRange, country, filters }, options) => ({
    url: serviceUrl('https://api.tavily.com/search', options.url),
    headers: { authorization: `Bearer ${options.api_key ?? ''}` },
    json: {
      query: text.slice(0, 400),
      max_results: Math.min(limit, 20),
      ...(timeRange ? { time_range: timeRange } : {}),
      // Only the default topic accepts a country.
      ...(country ? { country: nameOf(country) } : {}),
      ...(filters.allowedDomains.length > 0 ? { include_domains: filters.allowedDomains.slice(0, 300) } : {}),
      ...(filters.blockedDomains.length > 0 ? { exclude_domains: filters.blockedDomains.slice(0, 150) } : {}),
    },
  }),
  pages: z.object({ results: z.array(page) }).transform(({ results }) => results),
  refusal({ status, body }) {
    const detail = failure.safeParse(body).data?.detail;
    return { kind: KINDS[status], detail: typeof detail === 'string' ? detail : detail?.error };
  },
});

/** Countries with other names at Tavily than in Unicode. */
const NAMES: Readonly<Record<string, string>> = {
  CG: 'congo',
  CZ: 'czech republic',
  MM: 'myanmar',
  TR: 'turkey',
};

/** The name that Tavily documents: English, in lower case. */
function nameOf(country: string): string {
  const name = new Intl.DisplayNames('en', { type: 'region' }).of(country) ?? country;
  return NAMES[country] ?? name.toLowerCase().replace('&', 'and');
}
