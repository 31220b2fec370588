import type { TimeRange } from './published.ts';

/** One hit of a search service, free of markup. */
export interface SearchHit {
  url: string;
  title: string;
  snippet: string;
  /** When the page was published, ISO 8601, to the day or the month; where the service tells. */
  published?: string;
}

/** Limits on the sites that results may come from. A domain means itself and everything below it. */
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
  /** How far back from now the results may lie; absent: any time. */
  timeRange?: TimeRange;
  /** Where the user is, as an ISO 3166 code; providers see only what they can search by. */
  country?: string;
}

/** What a search is done under. */
export interface SearchCall {
  signal: AbortSignal;
  /** Called with the headers of each answer of a service. */
  answered?(headers: Headers): void;
}

export interface SearchAnswer {
  /** Best first. Empty means that the service looked and found nothing. */
  hits: SearchHit[];
  /** How long the provider wants no further search, in milliseconds. */
  restMs?: number;
  /** What the model should know of these results, in a sentence. */
  note?: string;
  /** The service says that its answer is for whoever asked. */
  private?: boolean;
}

/** One way to search: a service on the web or the local index. */
export interface SearchProvider {
  /** As in the configuration. */
  readonly name: string;
  /** Whether answers may be kept and given to other runs. Not so for files that change. */
  readonly cacheable: boolean;
  /** Searches that it can bear at a time, if fewer than usual. */
  readonly maxConcurrent?: number;
  /** @throws SearchFailure if it could not look. */
  search(query: SearchQuery, call: SearchCall): Promise<SearchAnswer>;
}

/** Why a provider could not search. */
export type SearchFailureKind = 'rate_limited' | 'quota_exceeded' | 'unauthorized' | 'rejected' | 'unavailable';

/** A search that did not happen; never to be taken for one without results. */
export class SearchFailure extends Error {
  override readonly name = 'SearchFailure';
  readonly kind: SearchFailureKind;
  /** Milliseconds after which the provider asked to be tried again. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: SearchFailureKind, message: string, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A model that tells what texts mean. */
export interface Embeddings {
  /** What vectors come from: those of different ones cannot be compared. */
  model: string;
  /** A vector for each text. @throws where none can be had, or the signal's reason. */
  embed(texts: readonly string[], options: { signal: AbortSignal }): Promise<Float32Array[]>;
  /** Called for every attempt, for metrics. */
  observe?: ((purpose: 'query' | 'documents', outcome: 'ok' | 'failed') => void) | undefined;
}
