import type { ServerResponse } from 'node:http';
import { writeAtTurnEnd } from '../../base/turn-end.ts';
import { STREAM_HEADERS } from '../../protocol/frames.ts';
import { heartbeat } from './heartbeat.ts';

/** A stream of server-sent events. Chunks are whole frames. */
export interface StreamAnswer {
  kind: 'stream';
  chunks: AsyncIterable<Uint8Array | string> | readonly Uint8Array[] | LiveChunks;
  headers: Record<string, string>;
}

/**
 * A stream whose source can hand a chunk over at once while the writer waits for the next one, and tells where it is the
 * last: `pass` gives false where it cannot be written now; then it has to come with the iteration.
 */
export type LiveChunks = (pass: (chunk: Uint8Array, isLast: boolean) => boolean) => AsyncIterable<Uint8Array>;

const HEARTBEAT_FRAME = ': heartbeat\n\n';

/**
 * Writes a stream to its end: the one place that does. The next chunk is pulled after the last one went out, so that
 * a slow reader holds no memory. A source that fails after the headers breaks the connection, so that no client takes
 * what it has for the whole.
 * @throws what the source throws before the headers were sent.
 */
export async function writeStream(
  res: ServerResponse,
  stream: StreamAnswer,
  { heartbeatMs, signal }: { heartbeatMs: number; signal: AbortSignal },
): Promise<void> {
  res.writeHead(200, { ...STREAM_HEADERS, ...stream.headers });
  // What is stored already goes out with the headers: it is there within this turn of the event loop.
  if (res.socket) writeAtTurnEnd(res.socket);
  res.flushHeaders();
  if (res.req.method === 'HEAD') {
    res.end();
    return;
  }
  using pulse = heartbeat(heartbeatMs, () => {
    if (!res.writableNeedDrain) res.write(HEARTBEAT_FRAME);
  });
  const pass = (chunk: Uint8Array, isLast: boolean) => {
    if (res.writableNeedDrain || res.destroyed || signal.aborted) return false;
    pulse.restart();
    // The end of the answer, which follows at once, goes out with it.
    if (isLast) res.socket?.cork();
    res.write(chunk);
    return true;
  };
  const chunks = typeof stream.chunks === 'function' ? stream.chunks(pass) : stream.chunks;
  try {
    for await (const chunk of chunks) {
      pulse.restart();
      writeAtTurnEnd(res);
      if (!res.write(chunk)) await waitUntilWritable(res);
      if (signal.aborted) break;
    }
    if (!res.destroyed) res.end();
  } catch (thrown) {
    // What was written is the client's, the headers too.
    while (res.socket?.writableCorked) res.socket.uncork();
    res.destroy();
    if (!signal.aborted) throw thrown;
  }
}

/**
 * Waits until more can be written, or the connection is gone: waiting for `drain` alone would hang when it goes. The
 * server ends the connection of a reader that has stalled (`ServerTimes.stalled`).
 */
export function waitUntilWritable(res: ServerResponse): Promise<void> {
  while (res.writableCorked > 0) res.uncork();
  if (!res.writableNeedDrain || res.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      res.off('drain', settle).off('close', settle);
      resolve();
    };
    res.on('drain', settle).on('close', settle);
  });
}
