import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { abortable } from '../../../base/abort.ts';
import { threadVariables } from '../../../base/compile-cache.ts';
import type { Logger } from '../../../base/logger.ts';
import { currentTrace } from '../../../base/trace-context.ts';
import { type Embeddings, type SearchAnswer, SearchFailure, type SearchProvider } from '../search-provider.ts';
import { embedTexts } from './embed-texts.ts';
import type { EmbedRequest, SearchQuestion, SearchReply, SearchThreadData } from './search-messages.ts';

export interface LocalSearchOptions {
  /** The folder with the documents; its subfolders are searched too. */
  folder: string;
  /** The folder in which indexes are kept, so that a restart finds them; absent: they live in memory. */
  indexFolder?: string | undefined;
  log?: Logger | undefined;
  /** Finds by meaning beside the words. */
  embeddings?: Embeddings | undefined;
}

/** The heap of the thread, in MiB. The index itself lies outside of it, in SQLite's memory. */
const HEAP_MB = 512;
/** Queries under way at once, at most: more would wait for longer than their time limit. */
const MAX_WAITING = 64;

/**
 * Full-text search over a folder, in a thread of its own. The index is built from the first query on, follows the files
 * and is kept where `indexFolder` says. Hits have `corpus:///` URLs.
 */
export function createLocalSearch(options: LocalSearchOptions): SearchProvider & Disposable {
  const waiting = new Map<number, PromiseWithResolvers<SearchAnswer>>();
  let thread: Worker | undefined;
  let lastId = 0;
  const closing = new AbortController();
  let isClosed = false;

  function start(): Worker {
    const workerData: SearchThreadData = {
      folder: options.folder,
      indexFile: indexFileOf(options),
      embeddingModel: options.embeddings?.model,
    };
    const worker = new Worker(new URL('./search-thread.ts', import.meta.url), {
      workerData,
      env: threadVariables(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      if (thread === worker) thread = undefined;
      for (const { reject } of waiting.values()) reject(failed('The local search broke down.'));
      waiting.clear();
    };
    worker.on('message', receive);
    worker.once('error', gone);
    worker.once('exit', gone);
    // A thread that nobody waits for does not keep the gateway's process alive.
    worker.unref();
    return worker;
  }

  function receive(reply: SearchReply): void {
    if (reply.type === 'trouble') return void options.log?.warn({ folder: options.folder }, reply.message);
    if (reply.type === 'embed') return void embed(reply);
    const question = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) thread?.unref();
    if (reply.type === 'failed') question?.reject(failed('The folder of the local search cannot be read.'));
    else question?.resolve({ hits: reply.hits, ...noteOf(reply.progress) });
  }

  async function embed(request: EmbedRequest): Promise<void> {
    const { embeddings, log, folder } = options;
    thread?.postMessage(await embedTexts(request, { embeddings, log, where: { folder } }, closing.signal));
  }

  return {
    name: 'local',
    cacheable: false,
    async search(query, { signal }) {
      signal.throwIfAborted();
      if (isClosed) throw failed('The local search is closed.');
      if (waiting.size >= MAX_WAITING) throw failed('Too many local searches are under way.');
      lastId += 1;
      const question: SearchQuestion = {
        type: 'search',
        id: lastId,
        text: query.text,
        limit: query.limit,
        trace: currentTrace(),
      };
      const answer = Promise.withResolvers<SearchAnswer>();
      waiting.set(question.id, answer);
      thread ??= start();
      thread.ref();
      thread.postMessage(question);
      return await abortable(answer.promise, signal);
    },
    [Symbol.dispose]() {
      isClosed = true;
      closing.abort(new Error('The local search is closed.'));
      void thread?.terminate();
    },
  };
}

/** One index for each folder that is searched. */
function indexFileOf({ folder, indexFolder }: LocalSearchOptions): string | undefined {
  if (indexFolder === undefined) return undefined;
  const name = createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 24);
  return join(indexFolder, `${name}.db`);
}

function failed(message: string): SearchFailure {
  return new SearchFailure('unavailable', message);
}

function noteOf(progress: { indexed: number; all: number } | undefined): { note?: string } {
  if (!progress) return {};
  const { indexed, all } = progress;
  const searched = all === 0 ? 'none could be searched yet' : `${indexed} of ${all} were searched`;
  return { note: `The documents are still being indexed: ${searched}.` };
}
