import { sleep } from '../../../base/abort.ts';
import type { DocumentIndex } from './document-index.ts';
import type { RankedPassage } from './ranking.ts';
import { type PassageText, type ReadPassage, VectorIndex } from './vector-index.ts';

/** Gives the vectors of texts, or undefined where it could not. */
export type Embed = (texts: readonly string[], purpose: EmbeddingPurpose) => Promise<Float32Array[] | undefined>;

/** What texts are embedded for. */
export type EmbeddingPurpose = 'query' | 'documents';

/** Passages of one request, and requests beside each other. */
const BATCH = 16;
const PARALLEL = 4;
/** What of a passage or query is embedded, in UTF-16 units. */
const MAX_TEXT = 6000;
/** Passages that are asked for one by one without success before the fault is the provider's. */
const MAX_LONELY = 3;

/** The pause after a failure; it doubles with each further one up to the longest. In milliseconds. */
const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

/** Passages that are near a query and are given to the ranking. */
const NEAR = 60;

export interface MeaningOptions {
  /** What the vectors come from. */
  model: string;
  embed: Embed;
  /** Whether this process is the one that follows the files. */
  owner(): boolean;
}

/**
 * Finds passages by what they mean: keeps their vectors and asks for those of new ones in the background. While the
 * embeddings cannot be had, nothing is near anything, and the words decide alone.
 */
export class Meaning implements Disposable {
  readonly #vectors: VectorIndex;
  readonly #options: MeaningOptions;
  readonly #closing = new AbortController();
  #isWorking = false;
  #failures = 0;
  #awayUntil = 0;

  constructor(index: DocumentIndex, options: MeaningOptions) {
    this.#options = options;
    this.#vectors = new VectorIndex(index, options.model);
  }

  /** The passages nearest to a query, best first; none where that is not known. `within`: see `VectorIndex.search`. */
  async near(query: string, within?: readonly number[]): Promise<RankedPassage[]> {
    if (performance.now() < this.#awayUntil || this.#vectors.size === 0) return [];
    const [vector] = (await this.#options.embed([query.slice(0, MAX_TEXT)], 'query')) ?? [];
    if (this.#closing.signal.aborted) return [];
    if (!vector) this.#failed();
    return vector ? this.#vectors.search(vector, NEAR, within) : [];
  }

  /** Sees that passages without vectors get them. */
  work(): void {
    if (this.#isWorking) return;
    this.tidy();
    if (!this.#options.owner()) return;
    this.#vectors.claim();
    this.#isWorking = true;
    this.#work()
      .catch(() => {})
      .finally(() => {
        this.#isWorking = false;
      });
  }

  /** Lets go of the vectors of passages that were taken out. */
  tidy(): void {
    this.#vectors.tidy();
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('The local search is closed.'));
  }

  /** @throws the reason of closing. */
  async #work(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      const passages = this.#vectors.unread(BATCH * PARALLEL);
      if (passages.length === 0) return;
      const batches: PassageText[][] = [];
      for (let at = 0; at < passages.length; at += BATCH) batches.push(passages.slice(at, at + BATCH));
      const done = await Promise.all(batches.map((batch) => this.#embed(batch)));
      signal.throwIfAborted();
      // In the order of the passages: what comes after one that failed waits with it.
      const failed = done.indexOf(undefined);
      this.#vectors.put((failed < 0 ? done : done.slice(0, failed)).flatMap((batch) => batch ?? []));
      if (failed < 0) this.#failures = 0;
      else await sleep(this.#failed(), { signal });
    }
  }

  /** Notes a failure. @returns the pause after it, in milliseconds. */
  #failed(): number {
    const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#awayUntil = performance.now() + pause;
    return pause;
  }

  async #embed(batch: readonly PassageText[]): Promise<ReadPassage[] | undefined> {
    const vectors = await this.#ask(batch.map(({ text }) => text));
    if (vectors) return batch.map(({ id }, at) => ({ id, vector: vectors[at] }));
    return this.#failures === 0 ? undefined : await this.#embedEach(batch);
  }

  /** One text that a model refuses does not keep the others from it. */
  async #embedEach(batch: readonly PassageText[]): Promise<ReadPassage[] | undefined> {
    const done: ReadPassage[] = [];
    let isThere = false;
    for (const { id, text } of batch) {
      if (!isThere && done.length >= MAX_LONELY) return undefined;
      const vector = (await this.#ask([text]))?.[0];
      isThere ||= vector !== undefined;
      done.push({ id, vector });
    }
    return isThere ? done : undefined;
  }

  async #ask(texts: readonly string[]): Promise<Float32Array[] | undefined> {
    if (this.#closing.signal.aborted) return undefined;
    const vectors = await this.#options.embed(
      texts.map((text) => text.slice(0, MAX_TEXT)),
      'documents',
    );
    return vectors?.length === texts.length ? vectors : undefined;
  }
}
