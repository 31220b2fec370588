import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { sleep, TimeoutError, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { ToolCache } from '../tool-cache.ts';
import { ProviderGate } from './provider-gate.ts';
import {
  type SearchAnswer,
  SearchFailure,
  type SearchProvider,
  type SearchQuery,
  searchHit,
} from './search-provider.ts';

export interface SearchChainOptions {
  /** In order of preference. */
  providers: readonly SearchProvider[];
  /** Concurrent searches at one provider. Default 4. */
  maxConcurrent?: number | undefined;
  /** Time limit of one search at one provider, in milliseconds. Default 8 s. */
  attemptTimeoutMs?: number | undefined;
  cache?: { store: ToolCache; ttlMs: number } | undefined;
}

/** How long one search waits in total while every provider asks to wait, in milliseconds. */
const PATIENCE_MS = 10_000;

/** How many private answers are cached for one run. */
const MAX_PRIVATE = 100;

const cachedAnswer = z.object({ hits: z.array(searchHit), note: z.string().optional() });

interface SearchOptions {
  signal: AbortSignal;
  log: Logger;
  /** The private answers that the run got earlier. */
  ownHits?: RunHits | undefined;
}

/** The latest private answers of one run, which no other run may see. */
export type RunHits = LRUCache<string, FoundHits>;

export function createRunHits(): RunHits {
  return new LRUCache({ max: MAX_PRIVATE });
}

interface Entry {
  provider: SearchProvider;
  gate: ProviderGate;
}

interface ProviderFailure {
  name: string;
  failure: SearchFailure;
  /** Milliseconds until the provider may be tried again. */
  waitMs: number;
}

/** The hits of a search, with a note about them for the model. */
export type FoundHits = Omit<SearchAnswer, 'restMs'>;

type Outcome = (FoundHits & { isCacheable: boolean }) | { failures: ProviderFailure[] };

/** Creates a chain that tries providers in order, with a gate for each and a cache of their answers. */
export function createSearchChain(options: SearchChainOptions) {
  const { maxConcurrent = 4, attemptTimeoutMs = 8000, cache } = options;
  const entries: Entry[] = options.providers.map((provider) => ({
    provider,
    gate: new ProviderGate({ maxConcurrent: Math.min(maxConcurrent, provider.maxConcurrent ?? maxConcurrent) }),
  }));
  const providers = options.providers.map(({ name, cacheKey = name }) => cacheKey);

  async function attempt({ provider, gate }: Entry, query: SearchQuery, options: SearchOptions): Promise<FoundHits> {
    const { signal, log } = options;
    if (gate.closedForMs() > 0) throw closed(gate);
    using _ = await gate.enter(options);
    // The gate may have closed while this search waited for its permit.
    if (gate.closedForMs() > 0) throw closed(gate);
    try {
      const search = (limited: AbortSignal) => provider.search(query, { signal: limited });
      const timeoutMs = Math.max(attemptTimeoutMs, provider.timeoutMs ?? 0);
      const { restMs, ...found } = await withTimeout(provider.name, timeoutMs, search, { signal });
      gate.succeeded(restMs);
      return found;
    } catch (error) {
      signal.throwIfAborted();
      const failure = toFailure(error);
      gate.failed(failure);
      log.warn({ provider: provider.name, kind: failure.kind }, `a search provider failed: ${failure.message}`);
      throw failure;
    }
  }

  /** Tries every provider once: the first answer, or all failures. */
  async function tryAll(query: SearchQuery, options: SearchOptions): Promise<Outcome> {
    const failures: ProviderFailure[] = [];
    for (const entry of entries) {
      try {
        const found = await attempt(entry, query, options);
        return { ...found, isCacheable: entry.provider.cacheKey !== undefined };
      } catch (error) {
        options.signal.throwIfAborted();
        const failure = toFailure(error);
        const waitMs = failure.retryAfterMs ?? (entry.gate.closedForMs() || Number.POSITIVE_INFINITY);
        failures.push({ name: entry.provider.name, failure, waitMs });
      }
    }
    return { failures };
  }

  /** Repeats `tryAll` while a provider asks for a wait that is short enough. */
  async function tryUntilPatienceEnds(query: SearchQuery, options: SearchOptions) {
    let patienceMs = PATIENCE_MS;
    for (;;) {
      const outcome = await tryAll(query, options);
      if ('hits' in outcome) return outcome;
      const waitMs = Math.min(...outcome.failures.map((failed) => failed.waitMs)) + 20;
      patienceMs -= waitMs;
      if (!(patienceMs > 0)) throw allFailed(outcome.failures);
      await sleep(waitMs, options);
    }
  }

  return {
    /**
     * The answer of the first provider that can search.
     * @throws SearchFailure that names every provider and its failure.
     */
    async search(query: SearchQuery, options: SearchOptions): Promise<FoundHits> {
      const key = cacheKeyOf(providers, query);
      const cached = cache && (options.ownHits?.get(key) ?? (await readCache(cache.store, key)));
      if (cached) return cached;
      const { isCacheable, ...found } = await tryUntilPatienceEnds(query, options);
      if (cache && isCacheable && found.private) options.ownHits?.set(key, found);
      else if (cache && isCacheable) {
        const hits = found.hits.map((hit) => ({ ...hit }));
        await cache.store.set(key, { ...found, hits }, cache.ttlMs).catch(() => {});
      }
      return found;
    },
  };
}

function cacheKeyOf(providers: readonly string[], query: SearchQuery): string {
  const { text, limit, filters, timeRange = '', country } = query;
  const identity = [
    providers,
    text.toLowerCase(),
    limit,
    [...filters.allowedDomains].sort(),
    [...filters.blockedDomains].sort(),
    timeRange,
    ...(country ? [country] : []),
  ];
  return `web_search:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/** The cached answer, if any: with a failing cache the call only costs one more search. */
async function readCache(store: ToolCache, key: string): Promise<FoundHits | undefined> {
  const parsed = cachedAnswer.safeParse(await store.get(key).catch(() => undefined));
  return parsed.success ? parsed.data : undefined;
}

function closed(gate: ProviderGate): SearchFailure {
  const ms = gate.closedForMs();
  const reason = gate.lastFailure?.message ?? 'failed earlier';
  const message = `${reason}; it is left alone for ${Math.ceil(ms / 1000)} s`;
  return new SearchFailure(gate.lastFailure?.kind ?? 'unavailable', message, { retryAfterMs: ms });
}

function toFailure(error: unknown): SearchFailure {
  if (error instanceof SearchFailure) return error;
  if (error instanceof TimeoutError)
    return new SearchFailure('unavailable', 'did not answer in time', { cause: error });
  return new SearchFailure('unavailable', messageOf(error), { cause: error });
}

function allFailed(failures: readonly ProviderFailure[]): SearchFailure {
  const last = failures.at(-1)?.failure;
  const reasons = failures.map(({ name, failure }) => `${name} ${failure.message}`).join('; ');
  return new SearchFailure(last?.kind ?? 'unavailable', reasons || 'no provider is configured', { cause: last });
}
