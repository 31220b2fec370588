import { z } from 'zod';
import { normaliseHost } from '../../base/hosts.ts';
import type { JsonObject } from '../../base/json.ts';
import { toSingleLine } from '../../base/text.ts';
import { ToolError } from '../tool.ts';
import type { TimeRange } from './published.ts';

/** How many queries one call may have; the model gets a note about further ones, which are dropped. */
export const MAX_QUERIES = 8;
const MAX_QUERY_LENGTH = 400;
const MAX_SITES = 10;
const RANGES = ['day', 'week', 'month', 'year'] as const satisfies readonly TimeRange[];

/** JSON Schema of the arguments of `web_search` (docs/research.md, "Tools"). */
export const SEARCH_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    queries: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_QUERIES,
      description: 'Search queries, each a few key words. Use different wordings or aspects, not variations of one.',
    },
    time_range: {
      type: 'string',
      enum: [...RANGES],
      description: 'Only what was published in the past day, week, month or year. Leave out for any time.',
    },
    sites: {
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_SITES,
      description: 'Only these sites, such as ["example.org"]; subdomains are included. Leave out for all.',
    },
  },
  required: ['queries'],
  additionalProperties: false,
};

const text = z.string();
const list = z.union([z.array(text), text.transform((item) => [item])]);
/** Models also send one `query`, or `queries` as one string. */
const queryFields = z.object({ queries: list.nullish(), query: list.nullish(), q: list.nullish() });
const limitFields = z.object({ time_range: text.nullish(), sites: list.nullish() });

/** The parsed arguments of a call. */
export interface SearchRequest {
  queries: string[];
  /** How many queries beyond `MAX_QUERIES` were dropped. */
  dropped: number;
  timeRange: TimeRange | undefined;
  /** Domains; empty: all. */
  sites: string[];
}

/**
 * Parses the distinct queries of a call and its limits.
 * @throws ToolError `invalid_arguments`.
 */
export function parseSearchArguments(args: JsonObject): SearchRequest {
  const parsed = queryFields.safeParse(args);
  const fields = parsed.success
    ? [parsed.data.queries, parsed.data.query, parsed.data.q].flatMap((field) => field ?? [])
    : [];
  const cleaned = fields.map((query) => toSingleLine(query.slice(0, 4 * MAX_QUERY_LENGTH)));
  const unique = [
    ...new Set(cleaned.map((query) => query.slice(0, MAX_QUERY_LENGTH).toWellFormed()).filter((query) => query !== '')),
  ];
  if (unique.length === 0) {
    throw invalid('web_search needs {"queries": ["..."]}: an array with at least one query.');
  }
  const limits = limitFields.safeParse(args);
  if (!limits.success) throw invalid('time_range must be a word and sites an array of host names.');
  return {
    queries: unique.slice(0, MAX_QUERIES),
    dropped: Math.max(0, unique.length - MAX_QUERIES),
    timeRange: timeRangeOf(limits.data.time_range ?? ''),
    sites: sitesOf(limits.data.sites ?? []),
  };
}

/** The range that a model means by `week` or one of its variants: `past_week`, `last week`, `w`. */
function timeRangeOf(value: string): TimeRange | undefined {
  const word = value
    .trim()
    .toLowerCase()
    .replace(/^(past|last)[ _-]?/, '');
  if (['', 'any', 'all', 'anytime', 'any time', 'none'].includes(word)) return undefined;
  const range = RANGES.find((name) => name === word || name[0] === word);
  if (!range) throw invalid(`time_range must be one of ${RANGES.join(', ')}, or be left out.`);
  return range;
}

function sitesOf(values: readonly string[]): string[] {
  const hosts = values.filter((value) => value.trim() !== '').map(hostOf);
  if (hosts.length > MAX_SITES) throw invalid(`sites may name ${MAX_SITES} hosts at most.`);
  return [...new Set(hosts)];
}

/** The host in `example.org`, `*.example.org`, `site:example.org` or a URL. */
function hostOf(value: string): string {
  const bare = value
    .trim()
    .slice(0, 300)
    .replace(/^site:/i, '');
  const host = normaliseHost(
    /^https?:\/\//i.test(bare) ? (URL.parse(bare)?.hostname ?? '') : (bare.split('/', 1)[0] ?? ''),
  );
  if (!/^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$/.test(host)) {
    throw invalid(`sites must be host names such as example.org; ${JSON.stringify(value.slice(0, 80))} is not one.`);
  }
  return host;
}

function invalid(message: string): ToolError {
  return new ToolError('invalid_arguments', message);
}
