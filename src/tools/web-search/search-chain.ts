import { createHash } from 'node:crypto';
import { z } from 'zod';
import { sleep, TimeoutError, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { ToolCache } from '../tool-cache.ts';
import { ProviderGate } from './provider-gate.ts';
import { SearchFailure, type SearchHit, type SearchProvider, type SearchQuery } from './search-provider.ts';

export interface SearchChainOptions {
  /** In order of preference. */
  providers: readonly SearchProvider[];
  /** Searches under way at one provider. Default 4. */
  maxConcurrent?: number | undefined;
  /** Time limit of one search at one provider, in milliseconds. Default 8 s. */
  attemptTimeoutMs?: number | undefined;
  cache?: { store: ToolCache; ttlMs: number } | undefined;
}

/** If every provider is closed, a pause of at most this long is waited for; in milliseconds. */
const LONGEST_WAIT = 5000;

const cachedHits = z.array(z.object({ url: z.string(), title: z.string(), snippet: z.string() }));

/** Providers tried in order, with their gates and the cache of their answers. */
export interface SearchChain {
  /**
   * The answer of the first provider that can search.
   * @throws SearchFailure naming every provider and its failure.
   */
  search(query: SearchQuery, options: { signal: AbortSignal; log: Logger }): Promise<SearchHit[]>;
}

/** Creates the chain; its gates last as long as it does. */
export function createSearchChain(options: SearchChainOptions): SearchChain {
  const { maxConcurrent = 4, attemptTimeoutMs = 8000, cache } = options;
  const links = options.providers.map((provider) => ({ provider, gate: new ProviderGate({ maxConcurrent }) }));
  const chainName = options.providers.map(({ name }) => name).join(',');

  async function attempt(link: (typeof links)[number], query: SearchQuery, signal: AbortSignal): Promise<SearchHit[]> {
    const { gate } = link;
    const leave = await gate.enter({ signal });
    try {
      // It may have closed while this search waited for its place.
      if (gate.closedForMs() > 0) throw closed(gate);
      return await askProvider(link, query, signal);
    } finally {
      leave();
    }
  }

  async function askProvider({ provider, gate }: (typeof links)[number], query: SearchQuery, signal: AbortSignal) {
    try {
      const hits = await withTimeout(
        provider.name,
        attemptTimeoutMs,
        (limited) => provider.search(query, { signal: limited }),
        { signal },
      );
      gate.succeeded();
      return hits;
    } catch (error) {
      signal.throwIfAborted();
      const failure = toFailure(error);
      gate.failed(failure);
      throw failure;
    }
  }

  async function tryAll(query: SearchQuery, { signal, log }: { signal: AbortSignal; log: Logger }) {
    const failures: { name: string; failure: SearchFailure }[] = [];
    for (const link of links) {
      const { name, cacheable } = link.provider;
      try {
        if (link.gate.closedForMs() > 0) throw closed(link.gate);
        return { hits: await attempt(link, query, signal), cacheable };
      } catch (error) {
        signal.throwIfAborted();
        const failure = toFailure(error);
        failures.push({ name, failure });
        log.warn({ provider: name, kind: failure.kind, err: failure.message }, 'a search provider failed');
      }
    }
    return { failures };
  }

  return {
    async search(query, { signal, log }) {
      const key = cacheKey(chainName, query);
      const remembered = cache && (await recall(cache.store, key));
      if (remembered) return remembered;
      let outcome = await tryAll(query, { signal, log });
      if (outcome.failures) {
        const wait = Math.min(...links.map(({ gate }) => gate.closedForMs() || Number.POSITIVE_INFINITY));
        if (wait <= LONGEST_WAIT) {
          await sleep(wait + 20, { signal });
          outcome = await tryAll(query, { signal, log });
        }
      }
      if (outcome.failures) throw allFailed(outcome.failures);
      if (cache && outcome.cacheable)
        await cache.store
          .set(
            key,
            outcome.hits.map((hit) => ({ ...hit })),
            cache.ttlMs,
          )
          .catch(() => {});
      return outcome.hits;
    },
  };
}

function cacheKey(chainName: string, query: SearchQuery): string {
  const { text, limit, filters } = query;
  const identity = [
    chainName,
    text.toLowerCase(),
    limit,
    [...filters.allowedDomains].sort(),
    [...filters.blockedDomains].sort(),
  ];
  return `web_search:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/** A cache that is down costs a search, not the call. */
async function recall(store: ToolCache, key: string): Promise<SearchHit[] | undefined> {
  const parsed = cachedHits.safeParse(await store.get(key).catch(() => undefined));
  return parsed.success ? parsed.data : undefined;
}

function closed(gate: ProviderGate): SearchFailure {
  const seconds = Math.ceil(gate.closedForMs() / 1000);
  return new SearchFailure('unavailable', `is paused for ${seconds} s after earlier failures`);
}

function toFailure(error: unknown): SearchFailure {
  if (error instanceof SearchFailure) return error;
  if (error instanceof TimeoutError)
    return new SearchFailure('unavailable', 'did not answer in time', { cause: error });
  return new SearchFailure('unavailable', messageOf(error), { cause: error });
}

function allFailed(failures: readonly { name: string; failure: SearchFailure }[]): SearchFailure {
  const last = failures.at(-1)?.failure;
  const reasons = failures.map(({ name, failure }) => `${name} ${failure.message}`).join('; ');
  return new SearchFailure(last?.kind ?? 'unavailable', reasons || 'no provider is configured', { cause: last });
}
