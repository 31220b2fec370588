import type { ServerResponse } from 'node:http';
import { corkUntilTurnEnd } from '../../base/load/turn-end.ts';
import { STREAM_HEADERS } from '../../protocol/frames.ts';
import { heartbeat } from './heartbeat.ts';

/** A stream of server-sent events. Chunks are whole frames. */
export interface StreamAnswer {
  kind: 'stream';
  chunks: AsyncIterable<Uint8Array | string> | readonly Uint8Array[] | LiveChunks;
  headers: Record<string, string>;
}

/**
 * A stream whose source can push a chunk while the writer waits for the next one. `pass` returns false if the chunk cannot
 * be written now; the source then has to yield it. `isLast`: the stream ends with this chunk.
 */
export type LiveChunks = (pass: (chunk: Uint8Array, isLast: boolean) => boolean) => AsyncIterable<Uint8Array>;

const HEARTBEAT_FRAME = ': heartbeat\n\n';

/**
 * Writes a stream to its end; every stream goes through here. The next chunk is pulled when the last one has been written,
 * so a slow reader holds no memory. If the source fails, the connection is broken, so that no client mistakes a partial
 * stream for a complete one.
 * @throws whatever the source throws, unless the request's signal has aborted.
 */
export async function writeStream(
  res: ServerResponse,
  stream: StreamAnswer,
  { heartbeatMs, signal }: { heartbeatMs: number; signal: AbortSignal },
): Promise<void> {
  res.writeHead(200, { ...STREAM_HEADERS, ...stream.headers });
  // Chunks that are already stored arrive within this turn of the event loop, and go out with the headers.
  if (res.socket) corkUntilTurnEnd(res.socket);
  res.flushHeaders();
  if (res.req.method === 'HEAD') {
    res.end();
    return;
  }
  using silence = heartbeat(heartbeatMs, () => {
    if (!res.writableNeedDrain) res.write(HEARTBEAT_FRAME);
  });
  const pass = (chunk: Uint8Array, isLast: boolean) => {
    if (res.writableNeedDrain || res.destroyed || signal.aborted) return false;
    silence.restart();
    // The end of the answer follows at once; one write takes both.
    if (isLast) res.socket?.cork();
    res.write(chunk);
    return true;
  };
  const chunks = typeof stream.chunks === 'function' ? stream.chunks(pass) : stream.chunks;
  try {
    for await (const chunk of chunks) {
      silence.restart();
      corkUntilTurnEnd(res);
      if (!res.write(chunk)) await waitUntilWritable(res);
      if (signal.aborted) break;
    }
    if (!res.destroyed) res.end();
  } catch (thrown) {
    // Sends what was written so far, with the headers.
    while (res.socket?.writableCorked) res.socket.uncork();
    res.destroy();
    if (!signal.aborted) throw thrown;
  }
}

/**
 * Waits until more can be written or the connection has closed; `drain` alone would never come then. The server closes the
 * connection of a stalled reader (`ServerTimes.stalled`).
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
