/**
 * Entry of the thread that keeps the index of the local search: reading, cutting and ranking documents takes time that
 * the event loop of the gateway does not have.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { FolderIndex } from './folder-index.ts';
import type { SearchQuestion, SearchReply, SearchThreadData } from './search-messages.ts';

const { folder, indexFile }: SearchThreadData = workerData;
const index = new FolderIndex({ folder, indexFile, onTrouble: (message) => reply({ type: 'trouble', message }) });

parentPort?.on('message', ({ id, text, limit }: SearchQuestion) => {
  index.search(text, limit).then(
    (answer) => reply({ type: 'found', id, ...answer }),
    () => reply({ type: 'failed', id }),
  );
});

function reply(message: SearchReply): void {
  parentPort?.postMessage(message);
}
