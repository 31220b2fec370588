/**
 * Entry of the thread that keeps the indexes of vector stores: to cut, to write and to rank takes time that the event
 * loop of the gateway does not have. Of several processes that share the folder one is the owner, who alone writes.
 */
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../../base/errors.ts';
import { AskedEmbeddings } from '../../tools/web-search/local/embed-texts.ts';
import { CollectionIndex } from './collection-index.ts';
import {
  type IndexAnswer,
  type IndexChange,
  type IndexMessage,
  type IndexQuestion,
  type IndexReply,
  type IndexSettings,
  isInMemory,
} from './messages.ts';

/** Indexes that are open at once. */
const OPEN = 64;
/** Indexes in memory at once, and how long one stays that nobody asks, in milliseconds. */
const IN_MEMORY = 16;
const UNUSED_MS = 50_000;
/** What was removed is wiped from the disk once nothing was removed for so long, in milliseconds. */
const WIPE_MS = 5000;

const { folder, ...given }: IndexSettings & { folder: string } = workerData;
let settings: IndexSettings = given;
const embeddings = new AskedEmbeddings(reply);
const wiping = new Map<string, NodeJS.Timeout>();
const open = new LRUCache<string, CollectionIndex>({
  max: OPEN,
  dispose: (index, store) => {
    clearTimeout(wiping.get(store));
    wiping.delete(store);
    void wiped(index).finally(() => index[Symbol.dispose]());
  },
});

/** Those in memory. What was removed elsewhere leaves it as well. */
const memoryIndexes = new LRUCache<string, CollectionIndex>({
  max: IN_MEMORY,
  ttl: UNUSED_MS,
  ttlAutopurge: true,
  dispose: (index) => index[Symbol.dispose](),
});

parentPort?.on('message', (message: IndexMessage) => {
  if ('owner' in message) {
    settings = message;
    return open.clear();
  }
  if ('type' in message) return embeddings.answered(message);
  const { id } = message;
  answer(message).then(
    (value) => reply({ id, value }),
    (thrown: unknown) => reply({ id, error: messageOf(thrown) }),
  );
});

async function answer(question: IndexQuestion): Promise<IndexAnswer> {
  const { store } = question;
  switch (question.ask) {
    case 'state':
      return indexOf(store).state(question.path);
    case 'progress':
      return indexOf(store).progress();
    case 'search':
      return await indexOf(store).search(question.queries, question);
    case 'drop':
      if (isInMemory(store)) memoryIndexes.delete(store);
      else {
        // Closed before it leaves the cache: nothing of it is wiped any more.
        (open.peek(store) ?? opened(store)).drop();
        open.delete(store);
      }
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
  if (isInMemory(store)) {
    const index = memoryIndexes.get(store) ?? new CollectionIndex(undefined, { owner: true });
    memoryIndexes.set(store, index);
    return index;
  }
  const known = open.get(store);
  if (known) return known;
  const index = opened(store);
  open.set(store, index);
  // What another or an earlier process left undone.
  index.work();
  return index;
}

function opened(store: string): CollectionIndex {
  const { owner, embeddingModel: model } = settings;
  const by = model === undefined ? undefined : { model, embed: embeddings.embed };
  return new CollectionIndex(join(folder, `${store}.db`), { owner, embeddings: by });
}

function wipeSoon(store: string): void {
  clearTimeout(wiping.get(store));
  wiping.set(
    store,
    setTimeout(() => {
      const index = open.peek(store);
      if (index) void wiped(index);
    }, WIPE_MS),
  );
}

/** Where the disk is full, say, what was removed is wiped with what is removed next. */
async function wiped(index: CollectionIndex): Promise<void> {
  await index.wipe().catch(() => {});
}

function reply(message: IndexReply): void {
  parentPort?.postMessage(message);
}
