import { LF } from '../streams/frames.ts';

/** How much of the end of a stream is kept, in bytes at least. */
const MIN_TAIL = 16 * 1024;

/** The last pieces of a stream, by reference: usage and finish reasons come at the end. */
export class Tail {
  readonly #pieces: Buffer[] = [];
  #length = 0;

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    for (let first = this.#pieces[0]; first && this.#length - first.length >= MIN_TAIL; first = this.#pieces[0]) {
      this.#pieces.shift();
      this.#length -= first.length;
    }
  }

  /** Whether the last piece, of whole lines, ends with an empty one, or is one. */
  get endsFrame(): boolean {
    const ends = this.#pieces.slice(-2).map((piece) => piece.toString('latin1', Math.max(0, piece.length - 3)));
    return ends.length === 0 || /\n\r?\n$/.test(ends.join(''));
  }

  /** The retained text, from the start of a line. */
  text(): string {
    const [only] = this.#pieces;
    const tail = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces);
    const start = tail.length > MIN_TAIL ? tail.lastIndexOf(LF, tail.length - MIN_TAIL) + 1 : 0;
    return tail.toString('utf8', start);
  }
}
