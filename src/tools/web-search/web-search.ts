import { messageOf } from '../../base/errors.ts';
import { matchesHost } from '../../base/hosts.ts';
import type { JsonValue } from '../../base/json.ts';
import { isPublishedWithin, type SourceLimits } from '../source-limits.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput } from '../tool.ts';
import { mergeByRank } from './merge.ts';
import { isInRange } from './published.ts';
import { parseSearchArguments, SEARCH_PARAMETERS } from './search-arguments.ts';
import { createRunHits, createSearchChain, type RunHits, type SearchChainOptions } from './search-chain.ts';
import type { DomainFilters, SearchHit } from './search-provider.ts';

export interface WebSearchOptions extends SearchChainOptions {
  /** Results of one call, after merging. Default 8. */
  maxResults?: number;
  /** The operator's lists; a request's own filters narrow them further. */
  filters?: DomainFilters;
  /** Time limit of one call, in milliseconds. Default 20 s. */
  timeoutMs?: number;
  /** Unix milliseconds. Default: the clock. */
  now?: () => number;
}

/** What one request says of its searches. */
export interface SearchRequestOptions extends SourceLimits {
  /** Where the user is, as an ISO 3166 code. */
  country?: string | undefined;
  /** How much is shown of what is found: half as much as usual, or twice. */
  contextSize?: 'low' | 'medium' | 'high' | undefined;
}

/** The tool, which can be made one of a run. */
export interface WebSearchTool extends Tool {
  forRun(request: SearchRequestOptions): Tool;
}

interface ForRun extends SearchRequestOptions {
  ownHits?: RunHits;
}

/** Results of a search by `search_context_size`, as shares of the usual number. */
const SHARES = { low: 0.5, medium: 1, high: 2 } as const;
const MAX_RESULTS = 50;

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

  function toolFor(layers: readonly DomainFilters[], run: ForRun = { allowedDomains: [] }): Tool {
    const shownResults = Math.min(Math.ceil(maxResults * SHARES[run.contextSize ?? 'medium']), MAX_RESULTS);
    return {
      name: 'web_search',
      description: DESCRIPTION,
      parameters: SEARCH_PARAMETERS,
      timeoutMs,
      async call(args, { signal, log, searching }: ToolContext) {
        const { queries, dropped, timeRange, sites } = parseSearchArguments(args);
        const wanted = sites.length > 0 ? [...layers, { allowedDomains: sites, blockedDomains: [] }] : layers;
        const limits = {
          limit: shownResults * 2,
          filters: combine(wanted),
          ...(timeRange ? { timeRange } : {}),
          ...(run.country ? { country: run.country } : {}),
        };
        searching?.(queries.length);
        const answers = await Promise.allSettled(
          queries.map((text) => chain.search({ text, ...limits }, { signal, log, ownHits: run.ownHits })),
        );
        signal.throwIfAborted();
        const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
        const isWanted = ({ url, published }: SearchHit) =>
          wanted.every((layer) => admits(layer, url)) &&
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
        return toOutput(mergeByRank(lists, shownResults), { errors, dropped, isNarrowed, notes });
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

/** What a provider is asked for: the narrowest allow list and all that is blocked. */
function combine(layers: readonly DomainFilters[]): DomainFilters {
  return {
    allowedDomains: layers.map(({ allowedDomains }) => allowedDomains).findLast((some) => some.length > 0) ?? [],
    blockedDomains: layers.flatMap(({ blockedDomains }) => blockedDomains),
  };
}

/** Providers apply filters as they like; this is what counts. Documents of the local corpus have the domain `corpus`. */
function admits(filters: DomainFilters, url: string): boolean {
  const host = URL.parse(url)?.hostname || 'corpus';
  const listed = filters.allowedDomains.length === 0 || matchesHost(host, filters.allowedDomains);
  return listed && !matchesHost(host, filters.blockedDomains);
}

function toOutput(
  hits: readonly SearchHit[],
  about: { errors: { query: string; message: string }[]; dropped: number; isNarrowed: boolean; notes: string[] },
): ToolOutput {
  return {
    sources: hits.map((hit) => ({ ...hit, kind: 'listed' })),
    result(sourceId) {
      const result: { [key: string]: JsonValue } = {
        results: hits.map((hit) => ({ ...inOrder(hit), source_id: sourceId(hit.url) })),
      };
      if (about.errors.length > 0) result.errors = about.errors;
      if (about.dropped > 0) result.note = `${about.dropped} queries beyond the first were left out.`;
      else if (hits.length === 0) {
        const how = about.isNarrowed ? 'Other words, or no time_range and sites, may' : 'Other words may';
        result.note = `No results. ${how} find more.`;
      }
      if (about.notes.length > 0) result.note = [result.note, about.notes[0]].filter(Boolean).join(' ');
      return result;
    },
  };
}

function inOrder({ title, url, snippet, published }: SearchHit) {
  return { title, url, snippet, ...(published ? { published } : {}) };
}
