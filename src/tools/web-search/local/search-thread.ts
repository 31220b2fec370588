/**
 * The entry of the thread that holds the index of the local search: reading, cutting and ranking documents would block
 * the event loop of the gateway.
 */
import '../../../base/node/polyfills.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../base/errors.ts';
import { runInTrace } from '../../../base/telemetry/trace-context.ts';
import { ThreadEmbeddings } from './embed-texts.ts';
import { type FolderAnswer, FolderIndex } from './folder-index.ts';
import type { EmbeddedTexts, SearchQuestion, SearchThreadData, ThreadReply } from './search-messages.ts';

const { folder, indexFile, embeddingModel }: SearchThreadData = workerData;
const embeddings = new ThreadEmbeddings(reply);
const index = new FolderIndex({
  folder,
  indexFile,
  embeddings: embeddingModel === undefined ? undefined : { model: embeddingModel, embed: embeddings.embed },
  onTrouble: (trouble) => reply({ trouble }),
});

parentPort?.on('message', (message: ({ id: number } & SearchQuestion) | EmbeddedTexts) => {
  if ('vectors' in message) return embeddings.answered(message);
  const { id, text, limit, trace } = message;
  runInTrace(trace, () => index.search(text, limit)).then(
    (value) => reply({ id, value }),
    (thrown: unknown) => reply({ id, error: messageOf(thrown) }),
  );
});

function reply(message: ThreadReply<FolderAnswer>): void {
  parentPort?.postMessage(message);
}
