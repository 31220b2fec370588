import type { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import type { TimeRange } from '../published.ts';
import type { SearchQuery } from '../search-provider.ts';
import {
  askService,
  failureOf,
  type ServiceAnswer,
  type ServiceRefusal,
  type ServiceRequest,
  unexpectedAnswer,
} from './ask-service.ts';
import { type FoundPage, hitsInRange, toHits } from './hits.ts';

/** How one service is queried and how its answers are read. */
export interface SearchService {
  request(query: SearchQuery, options: SearchProviderOptions): ServiceRequest;
  /** Reads the pages out of an answer. */
  pages: z.ZodType<FoundPage[]>;
  refusal(answer: ServiceAnswer): ServiceRefusal;
  /** Whether an answer is a refusal; where absent, one whose status is not 200 is. */
  refuses?(answer: ServiceAnswer): boolean;
  /** For a service without every range: its name, and the range to search instead of the requested one. */
  ranges?: { service: string; substitute(range: TimeRange): TimeRange | undefined };
  /** How long the service wants to get no further search after this answer, in milliseconds. */
  restMs?(headers: Headers): number | undefined;
}

/** The code of a search provider: one request to its service for each query. */
export function searchWith(service: SearchService): (options: SearchProviderOptions) => SearchCode {
  return (options) => ({
    async search(query, call) {
      const response = await askService(options, service.request(query, options), call);
      if (service.refuses?.(response) ?? response.status !== 200) {
        throw failureOf(response, service.refusal(response));
      }
      const pages = service.pages.safeParse(response.body);
      if (!pages.success) throw unexpectedAnswer();
      const restMs = service.restMs?.(response.headers);
      const { limit, timeRange } = query;
      const now = options.now();
      const searched = timeRange && service.ranges?.substitute(timeRange);
      if (service.ranges && timeRange && searched !== timeRange) {
        return hitsInRange(pages.data, { ...query, timeRange }, { service: service.ranges.service, searched, now });
      }
      return { hits: toHits(pages.data, { limit, now }), ...(restMs === undefined ? {} : { restMs }) };
    },
  });
}
