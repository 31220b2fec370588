import { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { startOf } from '../published.ts';
import { askService, failureOf, type ServiceAnswer, serviceUrl, unexpectedAnswer } from '../remote/ask-service.ts';
import { toHits } from '../remote/hits.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const answer = z.object({
  /** Results by their kind; web pages are under `search`, absent if nothing was found. */
  data: z.object({
    search: z
      .array(
        z.object({
          url: z.string(),
          title: z.string().nullish(),
          snippet: z.string().nullish(),
          time: z.string().nullish(),
        }),
      )
      .nullish(),
  }),
});

const failure = z.object({
  error: z
    .array(z.object({ code: z.coerce.string().nullish(), message: z.string().nullish(), msg: z.string().nullish() }))
    .nullish(),
});

/** Kagi Search, `POST /api/v1/search` (https://kagi.com/api/docs/openapi). */
export function createSearch(options: SearchProviderOptions): SearchCode {
  return {
    async search(query, call) {
      const { filters, timeRange } = query;
      const { allowedDomains: allowed, blockedDomains: blocked } = filters;
      const lens = {
        ...(allowed.length > 0 ? { sites_included: allowed.slice(0, 100) } : {}),
        ...(blocked.length > 0 ? { sites_excluded: blocked.slice(0, 100) } : {}),
      };
      const response = await askService(
        options,
        {
          url: serviceUrl('https://kagi.com/api/v1/search', options.url),
          headers: { authorization: `Bearer ${options.api_key ?? ''}` },
          json: {
            query: query.text.slice(0, 1000),
            workflow: 'search',
            limit: Math.min(query.limit, 1024),
            ...(timeRange ? { filters: { after: startOf(timeRange, options.now()) } } : {}),
            ...(Object.keys(lens).length > 0 ? { lens } : {}),
          },
        },
        call,
      );
      const [error] = failure.safeParse(response.body).data?.error ?? [];
      if (response.status !== 200 || error) {
        const detail = error?.message ?? error?.msg ?? '';
        const known = kindOf(response, { code: error?.code ?? '', detail });
        throw failureOf(response, { known, detail, apiKey: options.api_key });
      }
      const parsed = answer.safeParse(response.body);
      if (!parsed.success) throw unexpectedAnswer();
      const found = (parsed.data.data.search ?? []).map(({ url, title, snippet, time }) => ({
        url,
        title: title ?? '',
        texts: [snippet],
        published: time,
      }));
      return { hits: toHits(found, { limit: query.limit, now: options.now() }) };
    },
  };
}

/** Numbers are codes of the service as a whole; 429 is both a busy minute and a limit that is used up. */
function kindOf({ status }: ServiceAnswer, { code, detail }: { code: string; detail: string }) {
  const kinds: Readonly<Record<string, SearchFailureKind>> = { 1: 'rejected', 2: 'unauthorized' };
  const isSpent = code === '100' || code === '101' || /insufficient credit|exhausted|usage limit/i.test(detail);
  if (isSpent && (status === 200 || status === 402 || status === 429)) return 'quota_exceeded';
  return kinds[code];
}
