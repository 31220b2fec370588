/**
 * Entry of the threads that keep the indexes of vector stores: splitting, writing and ranking would block the event
 * loop of the gateway. In each process one thread searches. If the process owns the folder, another one writes, so that
 * searches never wait for writes.
 */
import '../../base/node/polyfills.ts';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../../base/errors.ts';
import { lowerPriority } from '../../base/load/priority.ts';
import { ThreadEmbeddings } from '../../tools/web-search/local/embed-texts.ts';
import type { EmbeddedTexts, ThreadReply } from '../../tools/web-search/local/search-messages.ts';
import { CollectionIndex } from './collection-index.ts';
import {
  type IndexChange,
  type IndexRequest,
  type IndexResponse,
  type IndexSettings,
  type IndexThreadData,
  isInMemory,
} from './messages.ts';

const MAX_OPEN = 64;
/** Indexes in memory: more than a request may attach files; and the UTF-16 code units of their texts together. */
const MAX_IN_MEMORY = 64;
const MAX_TEXT_IN_MEMORY = 128_000_000;
/**
 * How long an unused index stays in memory, or open for searches, in milliseconds. If another process has removed its
 * file, it is on the disk until then.
 */
const UNUSED = { ttl: 30_000, ttlAutopurge: true, updateAgeOnGet: true };
/** Removed text is wiped from the disk once nothing else was removed for this long, in milliseconds. */
const WIPE_MS = 5000;
/** When a failed wipe is tried again, in milliseconds: the disk may be full. */
const WIPE_RETRY_MS = 20_000;
/** How long a change may work before another one gets a turn; and in the thread that searches. In milliseconds. */
const WRITE_MS = 40;
const SEARCH_THREAD_WRITE_MS = 3;

const { folder, writes }: IndexThreadData = workerData;
let settings: IndexSettings = { owner: false, embeddingModel: undefined };
const embeddings = new ThreadEmbeddings(reply);
const wiping = new Map<string, NodeJS.Timeout>();
const open = new LRUCache<string, CollectionIndex>({
  max: MAX_OPEN,
  // The writer may still have to request vectors.
  ...(!writes && UNUSED),
  dispose: (index, store) => {
    clearTimeout(wiping.get(store));
    wiping.delete(store);
    void index
      .wipe()
      .catch(() => {})
      .finally(() => index[Symbol.dispose]());
  },
});

const memoryIndexes = new LRUCache<string, CollectionIndex>({
  max: MAX_IN_MEMORY,
  maxSize: MAX_TEXT_IN_MEMORY,
  // Until its text is known.
  sizeCalculation: () => 1,
  ...UNUSED,
  dispose: (index) => index[Symbol.dispose](),
});

// On other platforms this would lower the priority of the whole process.
if (writes && process.platform === 'linux') lowerPriority(0);

parentPort?.on('message', (message: ({ id: number; settings: IndexSettings } & IndexRequest) | EmbeddedTexts) => {
  if ('vectors' in message) return embeddings.answered(message);
  const { id } = message;
  if (!isDeepStrictEqual(settings, message.settings)) open.clear();
  settings = message.settings;
  handleRequest(message).then(
    (value) => reply({ id, value }),
    (thrown: unknown) => {
      // Reopened on the next request: the file may have been replaced.
      if (!writes) open.delete(message.store);
      reply({ id, error: messageOf(thrown) });
    },
  );
});

async function handleRequest(question: IndexRequest): Promise<IndexResponse> {
  const { store } = question;
  switch (question.ask) {
    case 'state':
      return indexOf(store).state(question.path);
    case 'progress':
      return indexOf(store).progress();
    case 'open':
      indexOf(store);
      return undefined;
    case 'search':
      return await indexOf(store).search(question.queries, question);
    case 'drop':
      if (isInMemory(store)) memoryIndexes.delete(store);
      // Dropped before it leaves the cache, so that nothing of it is wiped afterwards.
      else if (writes) (open.peek(store) ?? openIndex(store)).drop();
      open.delete(store);
      return undefined;
    default:
      await change(indexOf(store), question);
      return undefined;
  }
}

async function change(index: CollectionIndex, question: IndexChange): Promise<void> {
  switch (question.ask) {
    case 'put':
      await index.put(question.file);
      if (memoryIndexes.peek(question.store) === index)
        memoryIndexes.set(question.store, index, { size: question.file.text.length });
      return index.startEmbedding();
    case 'attributes':
      return index.setAttributes(question.path, question);
    case 'remove':
      await index.remove(question.paths);
      return wipeSoon(question.store);
    case 'note':
      return index.note(question.revision);
  }
}

function indexOf(store: string): CollectionIndex {
  const cache = isInMemory(store) ? memoryIndexes : open;
  const known = cache.get(store);
  if (known) return known;
  const index = openIndex(store);
  cache.set(store, index);
  // Continues what another or an earlier process left undone.
  index.startEmbedding();
  return index;
}

function openIndex(store: string): CollectionIndex {
  if (isInMemory(store)) return new CollectionIndex(undefined, { owner: true, sliceMs: SEARCH_THREAD_WRITE_MS });
  const { owner, embeddingModel: model } = settings;
  const collectionEmbeddings = model === undefined ? undefined : { model, embed: embeddings.embed };
  return new CollectionIndex(join(folder, `${store}.db`), {
    owner,
    sliceMs: WRITE_MS,
    embeddings: collectionEmbeddings,
  });
}

function wipeSoon(store: string, afterMs = WIPE_MS): void {
  clearTimeout(wiping.get(store));
  const index = open.get(store);
  const wipe = () => index?.wipe().catch(() => open.peek(store) === index && wipeSoon(store, WIPE_RETRY_MS));
  wiping.set(
    store,
    setTimeout(() => void wipe(), afterMs),
  );
}

function reply(message: ThreadReply<IndexResponse>): void {
  parentPort?.postMessage(message);
}
