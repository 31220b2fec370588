import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { currentTrace, runInTrace } from '../../../base/telemetry/trace-context.ts';
import type { Embeddings } from '../search-provider.ts';
import type { EmbeddedTexts, EmbedRequest } from './search-messages.ts';
import type { Embed, EmbedAnswer } from './semantic-search.ts';

/** How long embedding a query, or a batch of passages, may take, in milliseconds. */
const EMBEDDING_MS = { query: 3000, documents: 60_000 };

/** Embeds texts for a thread. If that fails, logs it with the fields of `where` and answers without vectors; never throws. */
export async function embedTexts(
  { id, purpose, texts, trace }: EmbedRequest,
  { embeddings, log, where }: { embeddings: Embeddings | undefined; log: Logger | undefined; where: object },
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  if (!embeddings) return { id, vectors: undefined };
  const ask = (limited: AbortSignal) => embeddings.embed(texts, { signal: limited });
  try {
    const vectors = await runInTrace(trace, () => withTimeout('The embedding', EMBEDDING_MS[purpose], ask, { signal }));
    embeddings.observe?.(purpose, 'ok');
    return { id, vectors };
  } catch (thrown) {
    if (signal.aborted) return { id, vectors: undefined };
    embeddings.observe?.(purpose, 'failed');
    const fields = { ...where, model: embeddings.model, err: messageOf(thrown) };
    log?.warn(fields, `the local search goes by words alone: no embeddings for ${purpose}`);
    return { id, vectors: embeddings.mayBeRefusal(thrown) ? 'refused' : undefined };
  }
}

/** Embeddings inside a thread, which has no network: it sends texts to the gateway, whose `embedTexts` answers. */
export class ThreadEmbeddings {
  readonly #pending = new Map<number, (vectors: EmbedAnswer) => void>();
  readonly #send: (request: EmbedRequest) => void;
  #lastId = 0;

  constructor(send: (request: EmbedRequest) => void) {
    this.#send = send;
  }

  readonly embed: Embed = (texts, purpose) => {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.#send({ id, purpose, texts, trace: currentTrace() });
    });
  };

  answered({ id, vectors }: EmbeddedTexts): void {
    this.#pending.get(id)?.(vectors);
    this.#pending.delete(id);
  }
}
