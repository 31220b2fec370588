import { setTimeout as delay } from 'node:timers/promises';

/** What a viewer saw of a run. */
export interface Viewed {
  bytes: Buffer;
  /** Connections made, and those that were given up on purpose or cut. */
  connections: number;
  /** The longest wait between two pieces, in milliseconds. */
  longestPauseMs: number;
  /** When that ended; Unix milliseconds. */
  pausedUntil: number;
}

export interface ViewerOptions {
  url: string;
  id: string;
  headers: Record<string, string>;
  /** Milliseconds after which a connection is dropped, at random up to this. */
  dropAfterMs: number;
  /** The number of the last event that was seen elsewhere; absent: none was. */
  after?: number;
  /** Called with every whole frame when it arrives. */
  onFrame?(frame: string): void;
  /** Gives up, with what was seen so far. */
  signal: AbortSignal;
}

const TERMINAL = /^event: response\.(completed|failed)\n/;

/**
 * Follows a run to its end as an impatient client on bad lines: drops the connection at random, in the middle of a
 * frame if it comes to that, and resumes behind the last whole frame, on whichever instance answers.
 */
export async function viewRun(options: ViewerOptions): Promise<Viewed> {
  const { id, headers, signal } = options;
  const seen: Viewed = { bytes: Buffer.alloc(0), connections: 0, longestPauseMs: 0, pausedUntil: 0 };
  let last = options.after ?? 0;
  let ended = false;
  let movedAt = performance.now();
  while (!ended && !signal.aborted) {
    seen.connections++;
    const dropped = AbortSignal.timeout(200 + Math.round(Math.random() * options.dropAfterMs));
    let rest = '';
    try {
      const url = `${options.url}/v1/responses/${id}?stream=true&after=${last}`;
      const response = await fetch(url, { headers: { ...headers, connection: 'close' }, signal: dropped });
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        rest += text;
        const end = rest.lastIndexOf('\n\n') + 2;
        if (end < 2) continue;
        const frames = rest.slice(0, end).split('\n\n').slice(0, -1);
        rest = rest.slice(end);
        for (const frame of frames) {
          if (frame.startsWith(':')) continue;
          const paused = performance.now() - movedAt;
          if (paused > seen.longestPauseMs) {
            seen.longestPauseMs = paused;
            seen.pausedUntil = Date.now();
          }
          movedAt = performance.now();
          seen.bytes = Buffer.concat([seen.bytes, Buffer.from(`${frame}\n\n`)]);
          last = Number(/"sequence_number":(\d+)/.exec(frame)?.[1]);
          ended ||= TERMINAL.test(frame);
          options.onFrame?.(frame);
        }
      }
    } catch {
      // Dropped, cut or refused: it tries again.
    }
    if (!ended) await delay(50 + Math.random() * 200);
  }
  return seen;
}
