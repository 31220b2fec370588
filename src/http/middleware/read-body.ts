import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import type { Permit } from '../../base/fair-semaphore.ts';

/** A request whose body may be read. */
export interface BodySource {
  req: IncomingMessage;
  res: ServerResponse;
  bodies: {
    /** The largest body, in bytes. */
    limit: number;
    place: Permit;
    /** How long nothing of the body may come, in milliseconds. */
    idleMs: number;
  };
}

/** The room that a body of unknown length begins with, in bytes. */
const FIRST_BYTES = 16 * 1024;
/** Chunks of a chunked body that may be as small as they like, and bytes that each one beyond them has on average. */
const FREE_CHUNKS = 1000;
const CHUNK_BYTES = 64;

/**
 * The body's bytes, read once. They are copied together as they come: the chunks of a body are its sender's choice, and
 * a Buffer for each of millions takes gigabytes.
 * @throws GatewayError `request_too_large`, before reading where the length is announced; `overloaded` where there is
 *   no memory for it; `invalid_json` where it breaks off, stalls, or comes in chunks of a few bytes.
 */
export async function readBody({ req, res, bodies }: BodySource): Promise<Buffer> {
  const { 'content-length': length } = req.headers;
  const announced = length === undefined ? undefined : Number(length);
  if (announced !== undefined && announced > bodies.limit) throw tooLarge(bodies.limit);
  // A client that sent `Expect: 100-continue` waits for this before it sends the body.
  if (req.headers.expect !== undefined) res.writeContinue();
  // What came together with the head is there once the parser is through with it.
  else await undefined;
  return takeWhole(req, { announced, place: bodies.place }) ?? (await collect(req, { announced, bodies }));
}

/** A body that came in one piece; no other is waited for, so it needs neither listeners nor a timer nor a copy. */
function takeWhole(
  req: IncomingMessage,
  { announced, place }: { announced: number | undefined; place: Permit },
): Buffer | undefined {
  if (!announced || req.readableLength !== announced) return undefined;
  place.grow(announced);
  const body: unknown = req.read();
  // Until the request has ended, its connection is not free for the next one.
  req.resume();
  return body instanceof Buffer ? body : undefined;
}

function collect(
  req: IncomingMessage,
  { announced, bodies }: { announced: number | undefined; bodies: BodySource['bodies'] },
): Promise<Buffer> {
  const { limit, place, idleMs } = bodies;
  if (req.destroyed && !req.complete) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const bytes = new GrowingBuffer(place, { most: announced ?? limit });
    let chunks = 0;
    const idle = setTimeout(() => settle(() => reject(invalid('The body did not arrive in time.'))), idleMs);
    const settle = (finish: () => void) => {
      clearTimeout(idle);
      req.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      finish();
    };
    const onData = (chunk: Buffer) => {
      idle.refresh();
      chunks++;
      if (bytes.length + chunk.length > limit) return settle(() => reject(tooLarge(limit)));
      if (announced === undefined && chunks > FREE_CHUNKS + bytes.length / CHUNK_BYTES) {
        return settle(() => reject(invalid('The body comes in chunks that are too small.')));
      }
      try {
        bytes.append(chunk);
      } catch (thrown) {
        settle(() => reject(thrown));
      }
    };
    const onEnd = () => settle(() => resolve(bytes.take()));
    const onBroken = () => settle(() => reject(brokenOff()));
    req.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

/** Bytes in one piece of memory that doubles when it is full. */
class GrowingBuffer {
  readonly #place: Permit;
  readonly #most: number;
  #bytes = Buffer.alloc(0);
  length = 0;

  /** @param most the length that it will not exceed, if known. */
  constructor(place: Permit, { most }: { most: number }) {
    this.#place = place;
    this.#most = most;
  }

  append(chunk: Buffer): void {
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) {
      const room = Math.max(needed, Math.min(this.#most, Math.max(FIRST_BYTES, this.#bytes.length * 2)));
      this.#place.grow(room - this.#bytes.length);
      const grown = Buffer.allocUnsafeSlow(room);
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.length);
    this.length = needed;
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${limit} bytes.`);
}

function brokenOff(): GatewayError {
  return invalid('The body ended before it was complete.');
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_json', message);
}
