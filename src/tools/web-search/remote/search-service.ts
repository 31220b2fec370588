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

/** How one service is asked and what its words mean. */
export interface SearchService {
  request(query: SearchQuery, options: SearchProviderOptions): ServiceRequest;
  /** Reads the pages out of an answer. */
  pages: z.ZodType<FoundPage[]>;
  /** What an answer of another status than 200 says. */
  refusal(answer: ServiceAnswer): ServiceRefusal;
  /** Whether an answer is one, where the status does not tell. */
  refuses?(answer: ServiceAnswer): boolean;
  /** For a service that does not know every range: its name, and the range that it is given instead of another. */
  ranges?: { service: string; given(range: TimeRange): TimeRange | undefined };
  /** How long the service wants no further search after this answer, in milliseconds. */
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
      const asked = timeRange && service.ranges?.given(timeRange);
      if (service.ranges && timeRange && asked !== timeRange) {
        return hitsInRange(pages.data, { ...query, timeRange }, { service: service.ranges.service, asked, now });
      }
      return { hits: toHits(pages.data, { limit, now }), ...(restMs === undefined ? {} : { restMs }) };
    },
  });
}
