import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawLoad {
  url: string;
  path: string;
  headers: Record<string, string>;
  body: string;
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
  const head = Object.entries({ host: `${hostname}:${port}`, 'content-length': load.body.length, ...load.headers });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const request = Buffer.from(`POST ${load.path} HTTP/1.1\r\n${lines}\r\n${load.body}`);
  const result: RawResult = { seconds: 0, firstByteMs: [], wholeMs: [] };
  let left = load.total;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, 'connect');
      // A connection that breaks is told by its end.
      socket.on('error', () => {});
      while (left > 0) {
        left--;
        await exchange(socket, request, { load, result });
      }
      socket.destroy();
    }),
  );
  result.seconds = (performance.now() - began) / 1000;
  return result;
}

const CHUNKED_END = Buffer.from('0\r\n\r\n');

function exchange(socket: Socket, request: Buffer, { load, result }: { load: RawLoad; result: RawResult }) {
  return new Promise<void>((resolve, reject) => {
    const began = performance.now();
    let received: Buffer = Buffer.alloc(0);
    let end: number | 'chunked' | undefined;
    const settle = (error?: Error) => {
      socket.off('data', onData).off('close', onClose);
      if (error) reject(error);
      else resolve();
    };
    const onClose = () => settle(new Error(`the connection closed: ${received}`));
    const onData = (bytes: Buffer) => {
      if (received.length === 0) result.firstByteMs.push(performance.now() - began);
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
      end ??= endOf(received);
      const isWhole =
        end === 'chunked' ? received.subarray(-5).equals(CHUNKED_END) : end !== undefined && received.length >= end;
      if (!isWhole) return;
      result.wholeMs.push(performance.now() - began);
      settle(fault(received, load));
    };
    socket.on('data', onData).on('close', onClose);
    socket.write(request);
  });
}

function endOf(received: Buffer): number | 'chunked' | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  return length === undefined ? 'chunked' : end + 4 + Number(length);
}

const BLANK = Buffer.from('\n\n');

function fault(received: Buffer, load: RawLoad): Error | undefined {
  let frames = 0;
  for (let at = received.indexOf(BLANK); at !== -1; at = received.indexOf(BLANK, at + 2)) frames++;
  const isGood = received.includes(' 200 ') && frames === load.frames && received.includes(load.mark);
  return isGood
    ? undefined
    : new Error(`${frames} frames: ${received.subarray(0, 500)} ... ${received.subarray(-300)}`);
}
