import { z } from 'zod';
import { startOf } from '../published.ts';
import { type ServiceAnswer, serviceUrl } from '../remote/ask-service.ts';
import { pageSchema } from '../remote/hits.ts';
import { searchWith } from '../remote/search-service.ts';
import type { SearchFailureKind } from '../search-provider.ts';

const page = pageSchema({ texts: ['snippet'], dates: ['time'] });

const failure = z.object({
  error: z
    .array(z.object({ code: z.coerce.string().nullish(), message: z.string().nullish(), msg: z.string().nullish() }))
    .nullish(),
});

/** Kagi Search, `POST /api/v1/search` (https://kagi.com/api/docs/openapi). */
export const createSearch = searchWith({
  request({ text, limit, timeRange, filters }, options) {
    const { allowedDomains: allowed, blockedDomains: blocked } = filters;
    const lens = {
      ...(allowed.length > 0 ? { sites_included: allowed.slice(0, 100) } : {}),
      ...(blocked.length > 0 ? { sites_excluded: blocked.slice(0, 100) } : {}),
    };
    return {
      url: serviceUrl('https://kagi.com/api/v1/search', options.url),
      headers: { authorization: `Bearer ${options.api_key ?? ''}` },
      json: {
        query: text.slice(0, 1000),
        workflow: 'search',
        limit: Math.min(limit, 1024),
        ...(timeRange ? { filters: { after: startOf(timeRange, options.now()) } } : {}),
        ...(Object.keys(lens).length > 0 ? { lens } : {}),
      },
    };
  },
  // Results are grouped by kind; web pages are in `search`, which is absent where there are none.
  pages: z.object({ data: z.object({ search: z.array(page).nullish() }) }).transform(({ data }) => data.search ?? []),
  refuses: (answer) => answer.status !== 200 || errorOf(answer) !== undefined,
  refusal(answer) {
    const { code, message, msg } = errorOf(answer) ?? {};
    const detail = message ?? msg ?? '';
    return { kind: kindOf(answer.status, { code: code ?? '', detail }), detail };
  },
});

function errorOf({ body }: ServiceAnswer) {
  return failure.safeParse(body).data?.error?.[0];
}

const KINDS: Readonly<Record<string, SearchFailureKind>> = { 1: 'rejected', 2: 'unauthorized' };

/** The kind by Kagi's numeric error code; status 429 means either a busy minute or a used-up limit. */
function kindOf(status: number, { code, detail }: { code: string; detail: string }): SearchFailureKind | undefined {
  const isSpent = code === '100' || code === '101' || /insufficient credit|exhausted|usage limit/i.test(detail);
  return isSpent && (status === 200 || status === 402 || status === 429) ? 'quota_exceeded' : KINDS[code];
}
