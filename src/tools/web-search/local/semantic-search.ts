import { sleep } from '../../../base/abort.ts';
import type { DocumentIndex } from './document-index.ts';
import type { RankedPassage } from './ranking.ts';
import { type EmbeddedPassage, type PassageText, VectorIndex } from './vector-index.ts';

/** The vectors of texts; `refused` if the provider refused them or broke down over them; undefined if it is unavailable. */
export type EmbedAnswer = Float32Array[] | 'refused' | undefined;

export type Embed = (texts: readonly string[], purpose: EmbeddingPurpose) => Promise<EmbedAnswer>;

/** What embeddings are for. */
export type EmbeddingPurpose = 'query' | 'documents';

/** How many passages one request embeds, and how many requests run at once. */
const BATCH = 16;
const PARALLEL = 4;
/** How much of a passage or query is embedded, in UTF-16 code units. */
const MAX_TEXT = 6000;
/** A text that every model embeds: a provider that refuses it is at fault itself. */
const HARMLESS_TEXT = 'text';

/** The pause after a failure, doubling with each further one up to the maximum, in milliseconds. */
const PAUSE_MS = 1000;
const MAX_PAUSE_MS = 300_000;

/** How many of the nearest passages go into the ranking. */
const MAX_NEAREST = 60;

export interface SemanticSearchOptions {
  /** Identifies the embedding model. */
  model: string;
  embed: Embed;
  /** Whether this process writes to the index. */
  owner(): boolean;
}

/**
 * Semantic search: stores the vectors of passages, and embeds new ones in the background. While embeddings are unavailable
 * it finds nothing, and the words alone decide.
 */
export class SemanticSearch implements Disposable {
  readonly #vectors: VectorIndex;
  readonly #options: SemanticSearchOptions;
  readonly #closing = new AbortController();
  #isWorking = false;
  #failures = 0;
  #pausedUntil = 0;

  constructor(index: DocumentIndex, options: SemanticSearchOptions) {
    this.#options = options;
    this.#vectors = new VectorIndex(index, options.model);
  }

  /** The passages nearest to a query, best first; none without embeddings. `within`: see `VectorIndex.search`. */
  async nearest(query: string, within?: readonly number[]): Promise<RankedPassage[]> {
    if (performance.now() < this.#pausedUntil || this.#vectors.size === 0) return [];
    const answer = await this.#options.embed([query.slice(0, MAX_TEXT)], 'query');
    if (this.#closing.signal.aborted) return [];
    const vector = Array.isArray(answer) ? answer[0] : undefined;
    if (!vector) this.#recordFailure();
    return vector ? this.#vectors.search(vector, MAX_NEAREST, within) : [];
  }

  /** Starts embedding passages without vectors in the background. */
  embedMissing(): void {
    if (this.#isWorking) return;
    this.tidy();
    if (!this.#options.owner()) return;
    this.#vectors.claim();
    this.#isWorking = true;
    this.#embedAll()
      .catch(() => {})
      .finally(() => {
        this.#isWorking = false;
      });
  }

  /** Frees the vectors of removed passages. */
  tidy(): void {
    this.#vectors.tidy();
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('The local search is closed.'));
  }

  /** @throws the reason of closing. */
  async #embedAll(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      const passages = this.#vectors.unembedded(BATCH * PARALLEL);
      if (passages.length === 0) return;
      const batches: PassageText[][] = [];
      for (let at = 0; at < passages.length; at += BATCH) batches.push(passages.slice(at, at + BATCH));
      const done = await Promise.all(batches.map((batch) => this.#embed(batch)));
      signal.throwIfAborted();
      // Vectors are stored in the order of the passages, so those after a failed batch wait with it.
      const failed = done.indexOf(undefined);
      this.#vectors.put((failed < 0 ? done : done.slice(0, failed)).flatMap((batch) => batch ?? []));
      if (failed < 0) this.#failures = 0;
      else await sleep(this.#recordFailure(), { signal });
    }
  }

  /** Records a failure. @returns the pause after it, in milliseconds. */
  #recordFailure(): number {
    const pause = Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#pausedUntil = performance.now() + pause;
    return pause;
  }

  async #embed(batch: readonly PassageText[]): Promise<EmbeddedPassage[] | undefined> {
    const vectors = await this.#ask(batch.map(({ text }) => text));
    if (Array.isArray(vectors)) return batch.map(({ id }, at) => ({ id, vector: vectors[at] }));
    return this.#failures === 0 ? undefined : await this.#embedEach(batch);
  }

  /** Embeds passages one by one, so that one text that the model refuses does not fail the whole batch. */
  async #embedEach(batch: readonly PassageText[]): Promise<EmbeddedPassage[] | undefined> {
    const done: EmbeddedPassage[] = [];
    for (const { id, text } of batch) {
      let answer = await this.#ask([text]);
      if (answer === 'refused') {
        // The text is at fault if it fails once more, after another one did not.
        if (!Array.isArray(await this.#ask([HARMLESS_TEXT]))) return undefined;
        answer = await this.#ask([text]);
      }
      if (answer === undefined) return undefined;
      done.push({ id, vector: answer === 'refused' ? undefined : answer[0] });
    }
    return done;
  }

  async #ask(texts: readonly string[]): Promise<EmbedAnswer> {
    if (this.#closing.signal.aborted) return undefined;
    const answer = await this.#options.embed(
      texts.map((text) => text.slice(0, MAX_TEXT)),
      'documents',
    );
    return answer === 'refused' || answer?.length === texts.length ? answer : undefined;
  }
}
