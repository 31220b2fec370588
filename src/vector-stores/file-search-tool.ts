import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { FileSearch } from '../research/run/request.ts';
import { fileUrl, type PlaceInFile } from '../tools/attached-file.ts';
import { type Tool, ToolError } from '../tools/tool.ts';
import type { Filter } from './filters.ts';
import type { FoundPassage, StoreSearch } from './store-search.ts';
import type { VectorStores } from './vector-stores.ts';

export interface FileSearchParts extends FileSearch {
  filter?: Filter | undefined;
  /** Whose vector stores may be searched. */
  user: string;
  vectorStores: Pick<VectorStores, 'find' | 'touch'>;
  search: Pick<StoreSearch, 'search' | 'searchFile'>;
}

export const FILE_SEARCH = 'file_search';
/** Number of passages unless the request sets one. */
const PASSAGES = 10;
const MAX_QUERIES = 5;
const MAX_QUERY_LENGTH = 1000;
/** Long, because the first search of an attached file reads and indexes it. */
const TIMEOUT_MS = 60_000;
/** Longest passage in a result, in UTF-16 code units. */
const MAX_PASSAGE_LENGTH = 2400;

const DESCRIPTION =
  'Searches the documents that the user has given for this task and returns the passages that match best, each with the ' +
  'document, and the page or section where it stands. Ask with the words that the documents will use; several queries at once are possible.';
const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    queries: {
      type: 'array',
      items: { type: 'string' },
      description: `What to look for, up to ${MAX_QUERIES} queries of a few words each.`,
    },
  },
  required: ['queries'],
  additionalProperties: false,
};

/** The tool `file_search` of one run (docs/vector-stores.md, "In a request"). */
export function createFileSearchTool(parts: FileSearchParts): Tool {
  return {
    name: FILE_SEARCH,
    description: DESCRIPTION,
    parameters: PARAMETERS,
    timeoutMs: TIMEOUT_MS,
    async call(args, { signal }) {
      const queries = parseQueries(args);
      const found = await findPassages(parts, queries, signal);
      const hits = found.map((hit) => ({ ...hit, url: fileUrl(hit.file.id, hit.file.name, placeOf(hit)) }));
      return {
        // A model that sees a passage has read it.
        sources: hits.map(({ url, file, text }) => ({
          url,
          title: file.name,
          snippet: text.slice(0, 300),
          kind: 'read',
        })),
        result: (sourceId) => ({
          results: hits.map(({ url, file, text, page, section, score }) => ({
            title: file.name,
            url,
            ...(page !== undefined && { page }),
            ...(section !== undefined && { section }),
            snippet: text.slice(0, MAX_PASSAGE_LENGTH),
            score: Math.round(score * 1000) / 1000,
            ...(Object.keys(file.attributes).length > 0 && { attributes: file.attributes }),
            source_id: sourceId(url),
          })),
          ...(hits.length === 0 && { note: 'No results. Other words may find more.' }),
        }),
      };
    },
  };
}

async function findPassages(
  { user, stores, files = [], filter, limit = PASSAGES, scoreThreshold = 0, vectorStores, search }: FileSearchParts,
  queries: readonly string[],
  signal: AbortSignal,
): Promise<FoundPassage[]> {
  try {
    const lists = await Promise.all([
      ...stores.map(async (id) => {
        const store = await vectorStores.find(user, id);
        void vectorStores.touch(store);
        return await search.search(id, { queries, limit, filter }, signal);
      }),
      ...files.map((id) => search.searchFile({ user, id }, { queries, limit }, signal)),
    ]);
    const found = lists.flat().filter(({ score }) => score >= scoreThreshold);
    return found.sort((a, b) => b.score - a.score).slice(0, limit);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    throw new ToolError(thrown.code === 'not_found' ? 'not_found' : 'search_failed', thrown.message, { cause: thrown });
  }
}

function placeOf({ page, section }: FoundPassage): PlaceInFile {
  return page === undefined ? { section } : { page };
}

function parseQueries({ queries, query }: JsonObject): string[] {
  const texts = [queries ?? query ?? []].flat().filter((text) => typeof text === 'string' && text.trim() !== '');
  if (texts.length === 0) throw new ToolError('invalid_arguments', 'queries: give at least one query.');
  return texts.slice(0, MAX_QUERIES).map((text) => String(text).slice(0, MAX_QUERY_LENGTH));
}
