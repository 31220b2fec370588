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
    memory: Permit;
    /** How long the body may stall, in milliseconds. */
    idleMs: number;
  };
}

/** The first capacity for a body of unknown length, in bytes. */
const FIRST_BYTES = 16 * 1024;
/** How many chunks of a body may be of any size, and how many bytes each further one must have on average. */
const FREE_CHUNKS = 1000;
const CHUNK_BYTES = 64;

/**
 * Reads the whole body. Its chunks are copied into one buffer as they arrive: a sender could choose millions of tiny ones,
 * and a Buffer for each would take gigabytes.
 * @throws GatewayError `request_too_large`, before reading if the length is announced; `overloaded` if there is no memory
 *   for it; `invalid_json` if it breaks off, stalls, or comes in chunks of a few bytes.
 */
export async function readBody({ req, res, bodies }: BodySource): Promise<Buffer> {
  const { 'content-length': length } = req.headers;
  const announced = length === undefined ? undefined : Number(length);
  if (announced !== undefined && announced > bodies.limit) throw tooLarge(bodies.limit);
  // A client that sent `Expect: 100-continue` waits for this before it sends the body.
  if (req.headers.expect !== undefined) res.writeContinue();
  // Lets the parser finish: a body that came in one packet with the head is available then.
  else await undefined;
  return readAtOnce(req, { announced, memory: bodies.memory }) ?? (await collect(req, { announced, bodies }));
}

/** A body that has arrived in one piece; undefined otherwise. It needs neither listeners nor a timer nor a copy. */
function readAtOnce(
  req: IncomingMessage,
  { announced, memory }: { announced: number | undefined; memory: Permit },
): Buffer | undefined {
  if (!announced || req.readableLength !== announced) return undefined;
  memory.grow(announced);
  const body: unknown = req.read();
  // Lets the request end, which frees its connection for the next one.
  req.resume();
  return body instanceof Buffer ? body : undefined;
}

function collect(
  req: IncomingMessage,
  { announced, bodies }: { announced: number | undefined; bodies: BodySource['bodies'] },
): Promise<Buffer> {
  const { limit, memory, idleMs } = bodies;
  if (req.destroyed && !req.complete) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const bytes = new GrowingBuffer(memory, { maxLength: announced ?? limit });
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

/** Bytes in one buffer that doubles when it is full. */
class GrowingBuffer {
  readonly #memory: Permit;
  readonly #maxLength: number;
  #bytes = Buffer.alloc(0);
  length = 0;

  constructor(memory: Permit, { maxLength }: { maxLength: number }) {
    this.#memory = memory;
    this.#maxLength = maxLength;
  }

  append(chunk: Buffer): void {
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) {
      const capacity = Math.max(needed, Math.min(this.#maxLength, Math.max(FIRST_BYTES, this.#bytes.length * 2)));
      this.#memory.grow(capacity - this.#bytes.length);
      const grown = Buffer.allocUnsafeSlow(capacity);
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
