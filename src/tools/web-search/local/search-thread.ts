/**
 * Entry of the thread that keeps the index of the local search: reading, cutting and ranking documents takes time that
 * the event loop of the gateway does not have.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { inTrace } from '../../../base/trace-context.ts';
import { AskedEmbeddings } from './embed-texts.ts';
import { FolderIndex } from './folder-index.ts';
import type { EmbeddedTexts, SearchQuestion, SearchReply, SearchThreadData } from './search-messages.ts';

const { folder, indexFile, embeddingModel }: SearchThreadData = workerData;
const embeddings = new AskedEmbeddings(reply);
const index = new FolderIndex({
  folder,
  indexFile,
  embeddings: embeddingModel === undefined ? undefined : { model: embeddingModel, embed: embeddings.embed },
  onTrouble: (message) => reply({ type: 'trouble', message }),
});

parentPort?.on('message', (message: SearchQuestion | EmbeddedTexts) => {
  if (message.type === 'embedded') return embeddings.answered(message);
  const { id, text, limit, trace } = message;
  inTrace(trace, () => index.search(text, limit)).then(
    (answer) => reply({ type: 'found', id, ...answer }),
    () => reply({ type: 'failed', id }),
  );
});

function reply(message: SearchReply): void {
  parentPort?.postMessage(message);
}
