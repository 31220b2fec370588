import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawLoad {
  url: string;
  path: string;
  headers: Record<string, string>;
  /** Absent for a `GET`. */
  body?: string;
  connections: number;
  /** Requests in all. */
  total: number;
  /** Frames (empty lines) that each answer must hold; 0: a whole answer that must hold `mark`. */
  frames: number;
  /** Text that each answer must hold. */
  mark: string;
}

export interface RawResult {
  seconds: number;
  /** Milliseconds from each request to the first byte of its answer, and to its last. */
  firstByteMs: number[];
  wholeMs: number[];
}

/**
 * A load client that costs little: sockets of its own, prepared requests, and no more parsing than finding the end of
 * an answer. It checks every answer: its status, its frames, its mark.
 */
export async function rawLoad(load: RawLoad): Promise<RawResult> {
  const { hostname, port } = new URL(load.url);
  const { body } = load;
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const head = Object.entries({ host: `${hostname}:${port}`, ...length, ...load.headers });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const method = body === undefined ? 'GET' : 'POST';
  const request = Buffer.from(`${method} ${load.path} HTTP/1.1\r\n${lines}\r\n${body ?? ''}`);
  const result: RawResult = { seconds: 0, firstByteMs: [], wholeMs: [] };
  let left = load.total;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      using connection = await Connection.open({ host: hostname, port: Number(port) });
      while (left > 0) {
        left--;
        const { answer, firstByteMs, wholeMs } = await connection.exchange(request);
        result.firstByteMs.push(firstByteMs);
        result.wholeMs.push(wholeMs);
        check(answer, load);
      }
    }),
  );
  result.seconds = (performance.now() - began) / 1000;
  return result;
}

const CHUNKED_END = Buffer.from('0\r\n\r\n');
const READ_BYTES = 64 * 1024;

interface Exchanged {
  /** Valid until the next exchange. */
  answer: Buffer;
  firstByteMs: number;
  wholeMs: number;
}

/** A connection that reads into memory of its own: what it costs must not depend on the pieces in which answers come. */
class Connection implements Disposable {
  readonly #socket: Socket;
  #answer = Buffer.allocUnsafe(READ_BYTES);
  #length = 0;
  #end: number | 'chunked' | undefined;
  #began = 0;
  #firstByteMs = 0;
  #waiting: PromiseWithResolvers<Exchanged> | undefined;

  static async open(address: { host: string; port: number }): Promise<Connection> {
    const connection = new Connection(address);
    await once(connection.#socket, 'connect');
    return connection;
  }

  private constructor(address: { host: string; port: number }) {
    const onread = {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (length: number, bytes: Uint8Array) => {
        this.#take(bytes.subarray(0, length));
        return true;
      },
    };
    this.#socket = connect({ ...address, noDelay: true, onread });
    // A connection that breaks is told by its end.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#waiting?.reject(new Error(`the connection closed: ${this.#read()}`)));
  }

  exchange(request: Buffer): Promise<Exchanged> {
    const waiting = Promise.withResolvers<Exchanged>();
    this.#waiting = waiting;
    this.#length = 0;
    this.#end = undefined;
    this.#began = performance.now();
    this.#socket.write(request);
    return waiting.promise;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(bytes: Uint8Array): void {
    const now = performance.now();
    if (this.#length === 0) this.#firstByteMs = now - this.#began;
    const length = this.#length + bytes.length;
    if (length > this.#answer.length) {
      this.#answer = Buffer.concat([this.#read()], Math.max(length, 2 * this.#answer.length));
    }
    this.#answer.set(bytes, this.#length);
    this.#length = length;
    this.#end ??= endOf(this.#read());
    if (!this.#isWhole()) return;
    this.#waiting?.resolve({ answer: this.#read(), firstByteMs: this.#firstByteMs, wholeMs: now - this.#began });
    this.#waiting = undefined;
  }

  #isWhole(): boolean {
    if (this.#end === undefined) return false;
    if (this.#end !== 'chunked') return this.#length >= this.#end;
    return this.#read().subarray(-CHUNKED_END.length).equals(CHUNKED_END);
  }

  #read(): Buffer {
    return this.#answer.subarray(0, this.#length);
  }
}

function endOf(received: Buffer): number | 'chunked' | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  return length === undefined ? 'chunked' : end + 4 + Number(length);
}

const BLANK = Buffer.from('\n\n');

/** @throws Error where an answer is not what was asked for. */
function check(received: Buffer, load: RawLoad): void {
  let frames = 0;
  for (let at = received.indexOf(BLANK); at !== -1; at = received.indexOf(BLANK, at + 2)) frames++;
  if (received.includes(' 200 ') && frames === load.frames && received.includes(load.mark)) return;
  throw new Error(`${frames} frames: ${received.subarray(0, 500)} ... ${received.subarray(-300)}`);
}
