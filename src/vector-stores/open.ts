import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { type Files, publicFileId } from '../files/files.ts';
import type { FileSearch } from '../research/run/request.ts';
import type { SideStores } from '../store/side-stores/side-stores.ts';
import type { Tool } from '../tools/tool.ts';
import type { Embeddings } from '../tools/web-search/search-provider.ts';
import { DocumentReader } from './document-reader.ts';
import { DocumentTexts } from './document-text.ts';
import { FileBatches } from './file-batches.ts';
import { createFileSearchTool } from './file-search-tool.ts';
import { filterSchema } from './filters.ts';
import { StoreIndexes } from './index/store-indexes.ts';
import { StoreSearch } from './store-search.ts';
import { VectorStores } from './vector-stores.ts';

/** Vector stores with their reader and their search. */
export interface OpenedVectorStores extends AsyncDisposable {
  vectorStores: VectorStores;
  fileBatches: FileBatches;
  documentReader: DocumentReader;
  storeSearch: StoreSearch;
}

/** Creates the tool with which a run searches vector stores of its user. */
export function fileSearchOf(
  { vectorStores, storeSearch }: OpenedVectorStores,
  { filter, ...scope }: FileSearch & { user: string },
): Tool {
  const parsed = filter === undefined ? undefined : filterSchema.parse(filter);
  return createFileSearchTool({ ...scope, filter: parsed, vectorStores, search: storeSearch });
}

/** Opens the parts of vector stores; `documentReader.start` starts reading. */
export function openVectorStores(parts: {
  storage: Pick<SideStores, 'entries' | 'readings'>;
  files: Files;
  config: GatewayConfig;
  embeddings(): Embeddings | undefined;
  clock: Clock;
  log: Logger;
}): OpenedVectorStores {
  const { storage, files, config, embeddings, clock, log } = parts;
  const stack = new AsyncDisposableStack();
  const stores = new VectorStores({ ...storage, clock });
  files.onRemove((file) => stores.detachEverywhere(publicFileId(file.id)));
  const indexes = stack.use(new StoreIndexes({ folder: config.files.index_folder, embeddings, log }));
  const texts = stack.use(new DocumentTexts());
  const reader = stack.use(new DocumentReader({ ...storage, stores, files, texts, indexes, clock, log }));
  const search = stack.use(new StoreSearch({ stores, reader, files, indexes, log }));
  return {
    vectorStores: stores,
    fileBatches: new FileBatches({ ...storage, stores, clock }),
    documentReader: reader,
    storeSearch: search,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
