import type { z } from 'zod';
import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import type { SearchQuery } from '../search-provider.ts';
import {
  askService,
  failureOf,
  type ServiceAnswer,
  type ServiceRefusal,
  type ServiceRequest,
  unexpectedAnswer,
} from './ask-service.ts';
import { type FoundPage, toHits } from './hits.ts';

/** How one service is asked and what its words mean. */
export interface SearchService {
  request(query: SearchQuery, options: SearchProviderOptions): ServiceRequest;
  /** Reads the pages out of an answer. */
  pages: z.ZodType<FoundPage[]>;
  /** What an answer of another status than 200 says. */
  refusal(answer: ServiceAnswer): ServiceRefusal;
  /** Whether a 200 is a refusal too. */
  refuses?(answer: ServiceAnswer): boolean;
  /** How long the service wants no further search after this answer, in milliseconds. */
  restMs?(headers: Headers): number | undefined;
}

/** The code of a search provider: one request to its service for each query. */
export function searchWith(service: SearchService): (options: SearchProviderOptions) => SearchCode {
  return (options) => ({
    async search(query, call) {
      const response = await askService(options, service.request(query, options), call);
      if (response.status !== 200 || service.refuses?.(response)) {
        throw failureOf(response, { ...service.refusal(response), apiKey: options.api_key });
      }
      const pages = service.pages.safeParse(response.body);
      if (!pages.success) throw unexpectedAnswer();
      const restMs = service.restMs?.(response.headers);
      return {
        hits: toHits(pages.data, { limit: query.limit, now: options.now() }),
        ...(restMs === undefined ? {} : { restMs }),
      };
    },
  });
}
