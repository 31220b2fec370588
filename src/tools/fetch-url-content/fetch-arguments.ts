import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { ToolError } from '../tool.ts';

/** JSON Schema of the arguments of `fetch_url_content` (docs/research.md, "Tools"). */
export const FETCH_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      description:
        'The complete address: http(s), corpus:/// as given by a search result, or file:/// of an attached file.',
    },
    goal: { type: 'string', description: 'What you want to learn from the page, in one sentence.' },
    offset: {
      type: 'integer',
      minimum: 0,
      description: 'Where to go on in a long document: the next_offset of the previous part.',
    },
    find: {
      type: 'string',
      description: 'Words or a phrase to find in the document: returns the passages around them with their offsets.',
    },
  },
  required: ['url'],
  additionalProperties: false,
};

/** The longest text to find, in characters. */
const MAX_FIND_LENGTH = 500;

const fetchArguments = z.object({
  url: z.string().trim().min(1).max(4000),
  goal: z.string().nullish(),
  /** Models also send numbers as text. */
  offset: z.coerce.number().int().nonnegative().nullish(),
  find: z.string().max(MAX_FIND_LENGTH).nullish(),
});

/** The arguments of a call, with their defaults. */
export interface FetchArguments {
  url: string;
  goal: string;
  /** In UTF-16 code units of the document's text. */
  offset: number;
  /** The text to find; empty: none. */
  find: string;
}

/**
 * Parses the arguments.
 * @throws ToolError `invalid_arguments`.
 */
export function parseFetchArguments(args: JsonObject): FetchArguments {
  const parsed = fetchArguments.safeParse(args);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join('.') || 'url';
    throw new ToolError(
      'invalid_arguments',
      `fetch_url_content needs {"url": "https://..."}; ${field} is missing or wrong.`,
    );
  }
  const { url, goal, offset, find } = parsed.data;
  return { url: withScheme(url), goal: goal?.trim() ?? '', offset: offset ?? 0, find: find?.trim() ?? '' };
}

/** An address as it is fetched: with https if it names no scheme. */
export function withScheme(url: string): string {
  const named = /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[\w.-]+:\d/.test(url);
  return named ? url : `https://${url.replace(/^\/+/, '')}`;
}
