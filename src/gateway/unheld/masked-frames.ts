import { Transform, type TransformCallback } from 'node:stream';
import type { ProviderTarget } from '../../upstream/provider-target.ts';

/** Pieces that wait at most until it is known whether a message goes on with a credential. */
const MAX_WAITING = 4096;

interface Header {
  size: number;
  length: number;
  isLast: boolean;
  isControl: boolean;
}

/** A piece of what goes out: of a message that is looked through, or what stands around it. */
interface Piece {
  bytes: Buffer;
  isMessage: boolean;
}

/**
 * The frames of a provider's WebSocket (RFC 6455) without the credentials that it may quote, however a message is cut
 * into frames and network chunks. Nothing changes its length, so frames stay as they are. Ends with an error where the
 * provider breaks the protocol: masked frames, or extensions that were not agreed on, could hide anything.
 */
export class MaskedFrames extends Transform {
  readonly #mask: ProviderTarget['mask'];
  /** An incomplete header or control frame. */
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes that are missing of the current frame, and whether its message ends with it. */
  #missing = 0;
  #isLast = true;
  /** What may be the start of a credential, and what came behind it. */
  #waiting: Piece[] = [];
  /** What goes out of the chunk that is read, in one piece: thousands of small ones take a socket long to write. */
  readonly #passed: Buffer[] = [];

  constructor({ mask }: Pick<ProviderTarget, 'mask'>) {
    super();
    this.#mask = mask;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let failure: Error | null = null;
    try {
      this.#read(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]));
      this.#pass({ isWhole: false });
      if (this.#waiting.length > MAX_WAITING) throw new Error('too many frames in the middle of a message');
    } catch (error) {
      failure = error instanceof Error ? error : new Error('the frames cannot be read');
    }
    const passed = this.#passed.splice(0);
    const [only] = passed;
    if (only) this.push(passed.length === 1 ? only : Buffer.concat(passed));
    done(failure);
  }

  #read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#missing > 0) {
        const piece = bytes.subarray(at, at + this.#missing);
        this.#waiting.push({ bytes: piece, isMessage: true });
        this.#missing -= piece.length;
        at += piece.length;
      } else {
        const header = headerAt(bytes, at);
        const end = header && at + header.size + (header.isControl ? header.length : 0);
        if (header === undefined || end === undefined || end > bytes.length) break;
        if (header.isControl) this.#mask.apply(bytes.subarray(at + header.size, end));
        this.#waiting.push({ bytes: bytes.subarray(at, end), isMessage: false });
        at = end;
        if (header.isControl) continue;
        this.#missing = header.length;
        this.#isLast = header.isLast;
      }
      if (this.#missing === 0 && this.#isLast) this.#pass({ isWhole: true });
    }
    this.#rest = bytes.subarray(at);
  }

  /** Masks what is there of the message, and passes on what cannot be the start of a credential. */
  #pass({ isWhole }: { isWhole: boolean }): void {
    const pieces = this.#waiting.filter(({ isMessage }) => isMessage).map(({ bytes }) => bytes);
    const [only] = pieces;
    const message = pieces.length === 1 && only ? only : Buffer.concat(pieces);
    this.#mask.apply(message);
    let at = 0;
    if (pieces.length > 1) for (const piece of pieces) at += message.copy(piece, 0, at, at + piece.length);
    let safe = message.length - (isWhole ? 0 : this.#mask.unfinished(message));
    const isHeld = safe < message.length;
    let passed = 0;
    for (const piece of this.#waiting) {
      const { bytes, isMessage } = piece;
      if (isMessage && bytes.length > safe) {
        if (safe > 0) this.#passed.push(bytes.subarray(0, safe));
        piece.bytes = bytes.subarray(safe);
        break;
      }
      if (isMessage) safe -= bytes.length;
      this.#passed.push(bytes);
      passed++;
    }
    this.#waiting = isHeld ? this.#waiting.slice(passed) : [];
  }
}

/** @throws Error for a frame that no provider may send. */
function headerAt(bytes: Buffer, at: number): Header | undefined {
  const [first, second] = [bytes[at], bytes[at + 1]];
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0) throw new Error('a frame of an extension that was not agreed on');
  if ((second & 0x80) !== 0) throw new Error('a masked frame');
  const isControl = (first & 0x08) !== 0;
  const short = second & 0x7f;
  const flags = { isLast: (first & 0x80) !== 0, isControl };
  if (short < 126) return { size: 2, length: short, ...flags };
  if (isControl) throw new Error('a control frame that is too long');
  if (short === 126)
    return bytes.length < at + 4 ? undefined : { size: 4, length: bytes.readUInt16BE(at + 2), ...flags };
  if (bytes.length < at + 10) return undefined;
  const length = bytes.readBigUInt64BE(at + 2);
  if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error('a frame that is too long');
  return { size: 10, length: Number(length), ...flags };
}
