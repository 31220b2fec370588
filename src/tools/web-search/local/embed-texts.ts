import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { currentTrace, inTrace } from '../../../base/trace-context.ts';
import type { Embeddings } from '../search-provider.ts';
import type { Embed } from './meaning.ts';
import type { EmbeddedTexts, EmbedRequest } from './search-messages.ts';

/** Time for the vectors of a query, and for those of passages, in milliseconds. */
const EMBEDDING_MS = { query: 3000, documents: 60_000 };

/**
 * Answers a thread that has texts embedded. Without vectors, and with a line in the log that says `where`, if they cannot
 * be had. Never fails.
 */
export async function embedTexts(
  { id, purpose, texts, trace }: EmbedRequest,
  { embeddings, log, where }: { embeddings: Embeddings | undefined; log: Logger | undefined; where: object },
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  if (!embeddings) return { id, vectors: undefined };
  const ask = (limited: AbortSignal) => embeddings.embed(texts, { signal: limited });
  try {
    const vectors = await inTrace(trace, () => withTimeout('The embedding', EMBEDDING_MS[purpose], ask, { signal }));
    embeddings.observe?.(purpose, 'ok');
    return { id, vectors };
  } catch (thrown) {
    if (!signal.aborted) {
      embeddings.observe?.(purpose, 'failed');
      const told = { ...where, model: embeddings.model, err: messageOf(thrown) };
      log?.warn(told, `the local search goes by words alone: no embeddings for ${purpose}`);
    }
    return { id, vectors: undefined };
  }
}

/** The other end, in a thread, which has no network: the gateway asks the provider. */
export class AskedEmbeddings {
  readonly #waiting = new Map<number, (vectors: Float32Array[] | undefined) => void>();
  readonly #ask: (request: EmbedRequest) => void;
  #lastId = 0;

  constructor(ask: (request: EmbedRequest) => void) {
    this.#ask = ask;
  }

  readonly embed: Embed = (texts, purpose) => {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#ask({ id, purpose, texts, trace: currentTrace() });
    });
  };

  answered({ id, vectors }: EmbeddedTexts): void {
    this.#waiting.get(id)?.(vectors);
    this.#waiting.delete(id);
  }
}
