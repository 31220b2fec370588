import { Agent, request } from 'undici';

/** What one stream gave. */
export interface Streamed {
  bytes: number;
  /** Milliseconds from the request to the first byte of the body. */
  firstByteMs: number;
  /** The last 4 KiB, to see how it ended. */
  tail: string;
  /** Occurrences of `event: `. */
  events: number;
}

export const agent = new Agent({ connections: 256, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

/** Sends a request and reads the whole stream, counting frames as they come. */
export async function readStream(
  url: string,
  options: { method?: 'GET' | 'POST'; headers?: Record<string, string>; body?: string },
): Promise<Streamed> {
  const began = performance.now();
  const response = await request(url, { dispatcher: agent, ...options });
  let bytes = 0;
  let events = 0;
  let firstByteMs = Number.NaN;
  let tail = Buffer.alloc(0);
  for await (const chunk of response.body) {
    if (bytes === 0) firstByteMs = performance.now() - began;
    bytes += chunk.length;
    events += countFrames(chunk);
    tail = chunk.length >= 4096 ? chunk.subarray(-4096) : Buffer.concat([tail, chunk]).subarray(-4096);
  }
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${tail}`);
  return { bytes, firstByteMs, tail: tail.toString(), events };
}

const BLANK = Buffer.from('\n\n');

function countFrames(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(BLANK); at !== -1; at = chunk.indexOf(BLANK, at + 2)) count++;
  return count;
}

/** Runs `work` `total` times, `parallel` at a time. */
export async function inParallel(total: number, parallel: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(parallel, total) }, async () => {
      while (next < total) await work(next++);
    }),
  );
}
