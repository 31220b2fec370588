import { linkSignals } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { matchesHost } from '../../base/hosts.ts';
import type { JsonValue } from '../../base/json.ts';
import { commonDomains, isPublishedWithin, type SourceLimits } from '../source-limits.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput } from '../tool.ts';
import { mergeByRank } from './merge.ts';
import { isInRange } from './published.ts';
import { MAX_QUERIES, parseSearchArguments, SEARCH_PARAMETERS } from './search-arguments.ts';
import { createRunHits, createSearchChain, type RunHits, type SearchChainOptions } from './search-chain.ts';
import type { DomainFilters, SearchHit } from './search-provider.ts';

export interface WebSearchOptions extends SearchChainOptions {
  /** How many results one call returns, after merging. Default 8. */
  maxResults?: number;
  /** The operator's filters; those of a request narrow them further. */
  filters?: DomainFilters;
  /** Time limit of one call, in milliseconds. Default 20 s. */
  timeoutMs?: number;
  /** Unix milliseconds. Default: the clock. */
  now?: () => number;
}

export interface SearchRequestOptions extends SourceLimits {
  /** The user's country as an ISO 3166 code. */
  country?: string | undefined;
  /** How many results the model gets: half as many as usual, or twice as many. */
  contextSize?: 'low' | 'medium' | 'high' | undefined;
}

/** The tool, which can be bound to a run. */
export interface WebSearchTool extends Tool {
  forRun(request: SearchRequestOptions): Tool;
}

interface RunOptions extends SearchRequestOptions {
  ownHits?: RunHits;
}

/** The factor that `search_context_size` applies to the number of results. */
const SIZE_FACTORS = { low: 0.5, medium: 1, high: 2 } as const;
const MAX_RESULTS = 50;
/** The share of its time that a call searches: what was found by then is its result. */
const SEARCHING_SHARE = 0.95;

const DESCRIPTION =
  'Searches the web (or the configured document collection) and returns titles, addresses and short snippets. ' +
  'time_range and sites narrow the search. Snippets are only pointers: read a page with fetch_url_content before relying on it.';

/** The tool `web_search` (docs/research.md, "Tools"): several queries at once, merged by rank and deduplicated. */
export function createWebSearchTool(options: WebSearchOptions): WebSearchTool {
  const {
    maxResults = 8,
    filters = { allowedDomains: [], blockedDomains: [] },
    timeoutMs = 20_000,
    now = Date.now,
  } = options;
  const chain = createSearchChain(options);

  function toolFor(layers: readonly DomainFilters[], run: RunOptions = { allowedDomains: [] }): Tool {
    const resultCount = Math.min(Math.ceil(maxResults * SIZE_FACTORS[run.contextSize ?? 'medium']), MAX_RESULTS);
    return {
      name: 'web_search',
      description: DESCRIPTION,
      parameters: SEARCH_PARAMETERS,
      timeoutMs,
      async call(args, { signal, log, onSearch }: ToolContext) {
        const { queries, dropped, timeRange, sites } = parseSearchArguments(args);
        const filterLayers = sites.length > 0 ? [...layers, { allowedDomains: sites, blockedDomains: [] }] : layers;
        const filters = combine(filterLayers);
        const limits = {
          limit: resultCount * 2,
          ...(timeRange ? { timeRange } : {}),
          ...(run.country ? { country: run.country } : {}),
        };
        // Where no site is allowed, nothing can be found.
        const asked = filters ? queries.map((text) => ({ text, filters, ...limits })) : [];
        onSearch?.(asked.length);
        using limit = linkSignals([signal], { what: 'the search', timeoutMs: timeoutMs * SEARCHING_SHARE });
        const answers = await Promise.allSettled(
          asked.map((query) => chain.search(query, { signal: limit.signal, log, ownHits: run.ownHits })),
        );
        signal.throwIfAborted();
        const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
        const isWanted = ({ url, published }: SearchHit) =>
          filterLayers.every((layer) => admits(layer, url)) &&
          isInRange(published, timeRange, now()) &&
          isPublishedWithin(published, run);
        const lists = found.map(({ hits }) => hits.filter(isWanted));
        const errors = queries.flatMap((query, at) => {
          const answer = answers[at];
          return answer?.status === 'rejected' ? [{ query, message: messageOf(answer.reason) }] : [];
        });
        if (errors.length === queries.length) {
          const reasons = [...new Set(errors.map(({ message }) => message))].join(' / ');
          const message = 'The search could not be carried out (this does not mean that there are no results)';
          throw new ToolError('search_failed', `${message}: ${reasons}`);
        }
        const isNarrowed = timeRange !== undefined || sites.length > 0;
        const notes = found.flatMap(({ note }) => note ?? []);
        return toOutput(mergeByRank(lists, resultCount), { errors, dropped, isNarrowed, notes });
      },
    };
  }

  return {
    ...toolFor([filters]),
    forRun: (request) => {
      const { allowedDomains, blockedDomains = [] } = request;
      return toolFor([filters, { allowedDomains, blockedDomains }], { ...request, ownHits: createRunHits() });
    },
  };
}

/** The filters that a provider gets: the domains that all lists allow, and all blocked ones. Undefined if none are allowed. */
function combine(layers: readonly DomainFilters[]): DomainFilters | undefined {
  let allowedDomains: readonly string[] | undefined = [];
  for (const layer of layers) allowedDomains &&= commonDomains(allowedDomains, layer.allowedDomains);
  return allowedDomains && { allowedDomains, blockedDomains: layers.flatMap(({ blockedDomains }) => blockedDomains) };
}

/** Applies the filters strictly, since providers apply them loosely. Local documents have the domain `corpus`. */
function admits(filters: DomainFilters, url: string): boolean {
  const host = URL.parse(url)?.hostname || 'corpus';
  const isAllowed = filters.allowedDomains.length === 0 || matchesHost(host, filters.allowedDomains);
  return isAllowed && !matchesHost(host, filters.blockedDomains);
}

function toOutput(
  hits: readonly SearchHit[],
  about: { errors: { query: string; message: string }[]; dropped: number; isNarrowed: boolean; notes: string[] },
): ToolOutput {
  return {
    sources: hits.map((hit) => ({ ...hit, kind: 'listed' })),
    result(sourceId) {
      const result: { [key: string]: JsonValue } = {
        results: hits.map((hit) => ({ ...resultOf(hit), source_id: sourceId(hit.url) })),
      };
      if (about.errors.length > 0) result.errors = about.errors;
      if (about.dropped > 0) result.note = `Only the first ${MAX_QUERIES} queries were asked.`;
      else if (hits.length === 0) {
        const advice = about.isNarrowed ? 'Other words, or no time_range and sites, may' : 'Other words may';
        result.note = `No results. ${advice} find more.`;
      }
      if (about.notes.length > 0) result.note = [result.note, about.notes[0]].filter(Boolean).join(' ');
      return result;
    },
  };
}

function resultOf({ title, url, snippet, published }: SearchHit) {
  return { title, url, snippet, ...(published ? { published } : {}) };
}
