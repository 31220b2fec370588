/**
 * Entry of the threads that keep the indexes of vector stores: to cut, to write and to rank takes time that the event
 * loop of the gateway does not have. One thread of a process searches. Another one writes, where the process is the
 * owner of the folder: whoever searches never waits for it.
 */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../../base/errors.ts';
import { lowerPriority } from '../../base/load/priority.ts';
import { AskedEmbeddings } from '../../tools/web-search/local/embed-texts.ts';
import type { EmbeddedTexts, ThreadReply } from '../../tools/web-search/local/search-messages.ts';
import { CollectionIndex } from './collection-index.ts';
import {
  type IndexAnswer,
  type IndexChange,
  type IndexQuestion,
  type IndexSettings,
  type IndexThreadData,
  isInMemory,
} from './messages.ts';

/** Indexes that are open at once. */
const OPEN = 64;
/** Indexes in memory at once. */
const IN_MEMORY = 16;
/**
 * How long an index stays in memory, or open to searches, that nobody asks, in milliseconds. One that another process
 * removed is on the disk until then.
 */
const UNUSED = { ttl: 30_000, ttlAutopurge: true, updateAgeOnGet: true };
/** What was removed is wiped from the disk once nothing was removed for so long, in milliseconds. */
const WIPE_MS = 5000;
/** When that is tried again where it failed, in milliseconds: the disk is full, say. */
const AGAIN_MS = 20_000;
/** How long a change goes on before another one has its turn, and beside searches in the same thread. In milliseconds. */
const WRITE_MS = 40;
const BESIDE_SEARCHES_MS = 3;

const { folder, writes }: IndexThreadData = workerData;
let settings: IndexSettings = { owner: false, embeddingModel: undefined };
const embeddings = new AskedEmbeddings(reply);
const wiping = new Map<string, NodeJS.Timeout>();
const open = new LRUCache<string, CollectionIndex>({
  max: OPEN,
  // Who writes may have vectors to ask for still.
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
  max: IN_MEMORY,
  ...UNUSED,
  dispose: (index) => index[Symbol.dispose](),
});

// Elsewhere it would be the whole process that stands back.
if (writes && process.platform === 'linux') lowerPriority(0);

parentPort?.on('message', (message: ({ id: number; settings: IndexSettings } & IndexQuestion) | EmbeddedTexts) => {
  if ('vectors' in message) return embeddings.answered(message);
  const { id } = message;
  if (!isDeepStrictEqual(settings, message.settings)) open.clear();
  settings = message.settings;
  answer(message).then(
    (value) => reply({ id, value }),
    (thrown: unknown) => {
      // Opened anew: it may be another file by then.
      if (!writes) open.delete(message.store);
      reply({ id, error: messageOf(thrown) });
    },
  );
});

async function answer(question: IndexQuestion): Promise<IndexAnswer> {
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
      // Closed before it leaves the cache: nothing of it is wiped any more.
      else if (writes) (open.peek(store) ?? opened(store)).drop();
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
      return index.work();
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
  const index = opened(store);
  cache.set(store, index);
  // What another or an earlier process left undone.
  index.work();
  return index;
}

function opened(store: string): CollectionIndex {
  if (isInMemory(store)) return new CollectionIndex(undefined, { owner: true, sliceMs: BESIDE_SEARCHES_MS });
  const { owner, embeddingModel: model } = settings;
  const by = model === undefined ? undefined : { model, embed: embeddings.embed };
  return new CollectionIndex(join(folder, `${store}.db`), { owner, sliceMs: WRITE_MS, embeddings: by });
}

function wipeSoon(store: string, afterMs = WIPE_MS): void {
  clearTimeout(wiping.get(store));
  const index = open.get(store);
  const wipe = () => index?.wipe().catch(() => open.peek(store) === index && wipeSoon(store, AGAIN_MS));
  wiping.set(
    store,
    setTimeout(() => void wipe(), afterMs),
  );
}

function reply(message: ThreadReply<IndexAnswer>): void {
  parentPort?.postMessage(message);
}
