import { z } from 'zod';
import type { Permit } from '../../base/fair-semaphore.ts';

/** An answer as a client got it. */
export const keptAnswer = z.strictObject({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  /** In base64. */
  body: z.string(),
});
export type KeptAnswer = z.infer<typeof keptAnswer>;

/** Takes down what goes out to a client: up to `limit` bytes, and only while there is memory for it. */
export class AnswerCopy implements Disposable {
  readonly #limit: number;
  readonly #memory: Permit;
  #head: Pick<KeptAnswer, 'status' | 'headers'> | undefined;
  #pieces: Buffer[] = [];
  #isGivenUp = false;
  #isWhole = false;

  /** `memory`: in bytes; what it holds is given back with the copy. */
  constructor({ limit, memory }: { limit: number; memory: Permit }) {
    this.#limit = limit;
    this.#memory = memory;
  }

  begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.#head ??= { status, headers: { ...headers } };
  }

  /** The bytes are copied: whoever sent them may use their memory again. */
  push(bytes: Buffer | string): void {
    if (this.#isGivenUp) return;
    const length = Buffer.byteLength(bytes);
    this.#isGivenUp = this.#memory.permits + length > this.#limit || !this.#memory.tryGrow(length);
    if (this.#isGivenUp) this[Symbol.dispose]();
    else this.#pieces.push(Buffer.from(bytes));
  }

  /** The answer is complete, and one to be given again. */
  complete(): void {
    this.#isWhole = true;
  }

  /** The answer once it is complete; undefined where it is not, or there was no room for it. */
  get answer(): KeptAnswer | undefined {
    if (!this.#isWhole || this.#isGivenUp || this.#head?.status !== 200) return undefined;
    return { ...this.#head, body: Buffer.concat(this.#pieces).toString('base64') };
  }

  [Symbol.dispose](): void {
    this.#pieces = [];
    this.#memory[Symbol.dispose]();
  }
}
