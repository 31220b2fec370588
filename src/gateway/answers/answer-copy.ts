import { z } from 'zod';
import type { Permit } from '../../base/fair-semaphore.ts';

/** An answer as a client got it. */
export const cachedAnswer = z.strictObject({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  /** In base64. */
  body: z.string(),
});
export type CachedAnswer = z.infer<typeof cachedAnswer>;

/** Records what is written to a client, up to `limit` bytes and only while there is memory for it. */
export class AnswerCopy implements Disposable {
  readonly #limit: number;
  readonly #memory: Permit;
  #head: Pick<CachedAnswer, 'status' | 'headers'> | undefined;
  #pieces: Buffer[] = [];
  #isDropped = false;
  #isWhole = false;

  /** `memory`: in bytes; disposing of the copy releases it. */
  constructor({ limit, memory }: { limit: number; memory: Permit }) {
    this.#limit = limit;
    this.#memory = memory;
  }

  begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.#head ??= { status, headers: { ...headers } };
  }

  /** Copies the bytes, so that their buffer can be reused. */
  push(bytes: Buffer | string): void {
    if (this.#isDropped) return;
    const length = Buffer.byteLength(bytes);
    this.#isDropped = this.#memory.permits + length > this.#limit || !this.#memory.tryGrow(length);
    if (this.#isDropped) this[Symbol.dispose]();
    else this.#pieces.push(Buffer.from(bytes));
  }

  /** Marks the answer as complete and fit for the cache. */
  complete(): void {
    this.#isWhole = true;
  }

  /** The answer; undefined until it is complete, and when there was no memory for it. */
  get answer(): CachedAnswer | undefined {
    if (!this.#isWhole || this.#isDropped || this.#head?.status !== 200) return undefined;
    return { ...this.#head, body: Buffer.concat(this.#pieces).toString('base64') };
  }

  [Symbol.dispose](): void {
    this.#pieces = [];
    this.#memory[Symbol.dispose]();
  }
}
