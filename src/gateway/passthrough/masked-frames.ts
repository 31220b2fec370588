import { Transform, type TransformCallback } from 'node:stream';
import type { ProviderTarget } from '../../upstream/provider-target.ts';

/** The most pieces that wait until it is known whether they contain the start of a credential. */
const MAX_WAITING = 4096;

interface Header {
  size: number;
  length: number;
  isLast: boolean;
  isControl: boolean;
}

/** A piece of the output: a part of a message, which is masked, or a header or control frame. */
interface Piece {
  bytes: Buffer;
  isMessage: boolean;
}

/**
 * Masks credentials that a provider may quote in the frames of a WebSocket (RFC 6455), however a message is split into
 * frames and network chunks. Masking keeps lengths, so frame headers stay valid. Fails when the provider breaks the
 * protocol: masked frames, or extensions that were not negotiated, could hide anything.
 */
export class MaskedFrames extends Transform {
  readonly #mask: ProviderTarget['mask'];
  /** An incomplete header or control frame. */
  #incomplete: Buffer = Buffer.alloc(0);
  /** How many bytes of the current frame are still to come, and whether its message ends with it. */
  #remaining = 0;
  #isLast = true;
  /** What may be the start of a credential, and everything after it. */
  #waiting: Piece[] = [];
  /** The output of the current chunk, pushed as one buffer: a socket is slow to write thousands of small ones. */
  readonly #output: Buffer[] = [];

  constructor({ mask }: Pick<ProviderTarget, 'mask'>) {
    super();
    this.#mask = mask;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let failure: Error | null = null;
    try {
      this.#read(this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk]));
      this.#release({ isWhole: false });
      if (this.#waiting.length > MAX_WAITING) throw new Error('too many frames in the middle of a message');
    } catch (error) {
      failure = error instanceof Error ? error : new Error('the frames cannot be read');
    }
    const output = this.#output.splice(0);
    const [only] = output;
    if (only) this.push(output.length === 1 ? only : Buffer.concat(output));
    done(failure);
  }

  #read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#remaining > 0) {
        const piece = bytes.subarray(at, at + this.#remaining);
        this.#waiting.push({ bytes: piece, isMessage: true });
        this.#remaining -= piece.length;
        at += piece.length;
      } else {
        const header = headerAt(bytes, at);
        const end = header && at + header.size + (header.isControl ? header.length : 0);
        if (header === undefined || end === undefined || end > bytes.length) break;
        if (header.isControl) this.#mask.maskWhole(bytes.subarray(at + header.size, end));
        this.#waiting.push({ bytes: bytes.subarray(at, end), isMessage: false });
        at = end;
        if (header.isControl) continue;
        this.#remaining = header.length;
        this.#isLast = header.isLast;
      }
      if (this.#remaining === 0 && this.#isLast) this.#release({ isWhole: true });
    }
    this.#incomplete = bytes.subarray(at);
  }

  /** Masks the waiting part of the message, and outputs what cannot be the start of a credential. */
  #release({ isWhole }: { isWhole: boolean }): void {
    const pieces = this.#waiting.filter(({ isMessage }) => isMessage).map(({ bytes }) => bytes);
    const [only] = pieces;
    const message = pieces.length === 1 && only ? only : Buffer.concat(pieces);
    if (isWhole) this.#mask.maskWhole(message);
    else this.#mask.maskBytes(message);
    let at = 0;
    if (pieces.length > 1) for (const piece of pieces) at += message.copy(piece, 0, at, at + piece.length);
    let safe = message.length - (isWhole ? 0 : this.#mask.unfinishedBytes(message));
    const mustWait = safe < message.length;
    let released = 0;
    for (const piece of this.#waiting) {
      const { bytes, isMessage } = piece;
      if (isMessage && bytes.length > safe) {
        if (safe > 0) this.#output.push(bytes.subarray(0, safe));
        piece.bytes = bytes.subarray(safe);
        break;
      }
      if (isMessage) safe -= bytes.length;
      this.#output.push(bytes);
      released++;
    }
    this.#waiting = mustWait ? this.#waiting.slice(released) : [];
  }
}

/** The frame header at `at`; undefined if it is incomplete. @throws Error for a frame that no provider may send. */
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
