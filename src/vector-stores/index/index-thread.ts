/**
 * Entry of the thread that keeps the indexes of vector stores: to cut, to write and to rank takes time that the event
 * loop of the gateway does not have. Of several processes that share the folder one is the owner, who alone writes.
 */
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../../base/errors.ts';
import { CollectionIndex } from './collection-index.ts';
import type { IndexAnswer, IndexQuestion, IndexReply } from './messages.ts';

/** Indexes that are open at once. */
const OPEN = 64;
/** What was removed is wiped from the disk once nothing was removed for so long, in milliseconds. */
const WIPE_MS = 5000;

const { folder }: { folder: string } = workerData;
/** Whether this process writes; it may become the owner later. */
let owner: boolean = workerData.owner;
const wiping = new Map<string, NodeJS.Timeout>();
const open = new LRUCache<string, CollectionIndex>({
  max: OPEN,
  dispose: (index, store) => {
    clearTimeout(wiping.get(store));
    wiping.delete(store);
    index.wipe();
    index[Symbol.dispose]();
  },
});

parentPort?.on('message', (question: IndexQuestion | { owner: boolean }) => {
  if ('owner' in question) {
    owner = question.owner;
    return open.clear();
  }
  const { id } = question;
  try {
    reply({ id, value: answer(question) });
  } catch (thrown) {
    reply({ id, error: messageOf(thrown) });
  }
});

function answer(question: IndexQuestion): IndexAnswer {
  const { store } = question;
  if (question.ask === 'drop') {
    open.delete(store);
    new CollectionIndex(pathOf(store), { owner }).drop();
    return undefined;
  }
  const index = indexOf(store);
  switch (question.ask) {
    case 'state':
      return index.state();
    case 'progress':
      return index.progress();
    case 'put':
      index.put(question.file);
      return undefined;
    case 'attributes':
      index.setAttributes(question.path, question);
      return undefined;
    case 'remove':
      index.remove(question.paths);
      wipeSoon(store);
      return undefined;
    case 'note':
      index.note(question.revision);
      return undefined;
    case 'search':
      return index.search(question.queries, question);
  }
}

function indexOf(store: string): CollectionIndex {
  const known = open.get(store);
  if (known) return known;
  const index = new CollectionIndex(pathOf(store), { owner });
  open.set(store, index);
  return index;
}

function pathOf(store: string): string {
  return join(folder, `${store}.db`);
}

function wipeSoon(store: string): void {
  clearTimeout(wiping.get(store));
  wiping.set(
    store,
    setTimeout(() => open.peek(store)?.wipe(), WIPE_MS),
  );
}

function reply(message: IndexReply): void {
  parentPort?.postMessage(message);
}
