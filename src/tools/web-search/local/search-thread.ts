/**
 * Entry of the thread that keeps the index of the local search: reading, cutting and ranking documents takes time that
 * the event loop of the gateway does not have.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { currentTrace, inTrace } from '../../../base/trace-context.ts';
import { FolderIndex } from './folder-index.ts';
import type { Embed } from './meaning.ts';
import type { EmbeddedTexts, SearchQuestion, SearchReply, SearchThreadData } from './search-messages.ts';

const { folder, indexFile, embeddingModel }: SearchThreadData = workerData;
const embedding = new Map<number, (vectors: Float32Array[] | undefined) => void>();
let lastEmbedding = 0;
const index = new FolderIndex({
  folder,
  indexFile,
  embeddings: embeddingModel === undefined ? undefined : { model: embeddingModel, embed },
  onTrouble: (message) => reply({ type: 'trouble', message }),
});

parentPort?.on('message', (message: SearchQuestion | EmbeddedTexts) => {
  if (message.type === 'embedded') {
    embedding.get(message.id)?.(message.vectors);
    embedding.delete(message.id);
    return;
  }
  const { id, text, limit, trace } = message;
  inTrace(trace, () => index.search(text, limit)).then(
    (answer) => reply({ type: 'found', id, ...answer }),
    () => reply({ type: 'failed', id }),
  );
});

/** The gateway asks the provider: this thread has no network. */
function embed(texts: readonly string[], purpose: Parameters<Embed>[1]): ReturnType<Embed> {
  lastEmbedding += 1;
  const id = lastEmbedding;
  return new Promise((resolve) => {
    embedding.set(id, resolve);
    reply({ type: 'embed', id, purpose, texts, trace: currentTrace() });
  });
}

function reply(message: SearchReply): void {
  parentPort?.postMessage(message);
}
