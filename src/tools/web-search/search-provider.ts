import { z } from 'zod';
import type { TimeRange } from './published.ts';

/** One hit of a search service, free of markup. */
export const searchHit = z.object({
  url: z.string(),
  title: z.string(),
  snippet: z.string(),
  /** When the page was published, in ISO 8601, to the day or the month, if the service says so. */
  published: z.string().optional(),
});
export type SearchHit = z.output<typeof searchHit>;

/** Limits on the sites that results may come from. A domain includes its subdomains. */
export interface DomainFilters {
  /** Empty: all domains. */
  allowedDomains: readonly string[];
  blockedDomains: readonly string[];
}

export interface SearchQuery {
  text: string;
  /** The most hits to return. */
  limit: number;
  filters: DomainFilters;
  /** The age that results may have; absent: any. */
  timeRange?: TimeRange;
  /** The user's country as an ISO 3166 code; only providers that can search by it get it. */
  country?: string;
}

/** The context of one search. */
export interface SearchCall {
  signal: AbortSignal;
  /** Called with the headers of each answer of a service. */
  onAnswer?(headers: Headers): void;
}

export interface SearchAnswer {
  /** Best first. Empty means that the service searched and found nothing. */
  hits: SearchHit[];
  /** How long the provider wants to get no further search, in milliseconds. */
  restMs?: number;
  /** A sentence for the model about these results. */
  note?: string;
  /** The service marks its answer as private to the requester. */
  private?: boolean;
}

/** One way to search: a service on the web or the local index. */
export interface SearchProvider {
  /** The name in the configuration. */
  readonly name: string;
  /** What answers depend on besides the query; undefined: they may not be stored, as those of files, which change. */
  readonly cacheKey: string | undefined;
  /** How many concurrent searches it accepts, if fewer than usual. */
  readonly maxConcurrent?: number | undefined;
  /** How long one search may take, in milliseconds, if that is longer than usual. */
  readonly timeoutMs?: number | undefined;
  /** @throws SearchFailure if it could not search. */
  search(query: SearchQuery, call: SearchCall): Promise<SearchAnswer>;
}

/** Why a provider could not search. */
export type SearchFailureKind = 'rate_limited' | 'quota_exceeded' | 'unauthorized' | 'rejected' | 'unavailable';

/** A search that did not happen, as opposed to one without results. */
export class SearchFailure extends Error {
  override readonly name = 'SearchFailure';
  readonly kind: SearchFailureKind;
  /** How long the provider asked to wait before the next search, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: SearchFailureKind, message: string, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An embedding model. */
export interface Embeddings {
  /** Identifies the model; vectors of different models cannot be compared. */
  model: string;
  /** A vector for each text. @throws if the provider fails, or the signal's reason. */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Float32Array[]>;
  /** Whether `embed` threw for something that may be the fault of the texts, unlike a rate limit or silence. */
  mayBeRefusal(thrown: unknown): boolean;
  /** Called for every attempt, for metrics. */
  observe?: ((purpose: 'query' | 'documents', outcome: 'ok' | 'failed') => void) | undefined;
}
