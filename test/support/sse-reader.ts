import { setTimeout as sleep } from 'node:timers/promises';
import type { RunEvent } from '../../src/protocol/events.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import { patience } from './time-limit.ts';

/** Reads an SSE answer as bytes, without trusting any client library. */
export class SseReader {
  readonly status: number;
  readonly headers: Headers;
  readonly #chunks: Uint8Array[] = [];
  readonly #events: RunEvent[] = [];
  /** How many chunks were decoded, and what they had of a frame that is not whole. */
  #decoded = { chunks: 0, rest: Buffer.alloc(0) };
  readonly #controller: AbortController;
  readonly #done: Promise<void>;
  #waiters: (() => void)[] = [];
  #ended = false;

  private constructor(response: Response, controller: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#controller = controller;
    this.#done = this.#read(response);
  }

  /** Sends a request and begins to read its answer. */
  static async open(url: string, init: RequestInit = {}): Promise<SseReader> {
    const controller = new AbortController();
    const response = await fetch(url, { ...init, signal: controller.signal });
    return new SseReader(response, controller);
  }

  /** Begins a run. Retries while a busy gateway refuses it (503), as the SDKs do. */
  static async begin(url: string, init: RequestInit): Promise<SseReader> {
    for (;;) {
      const reader = await SseReader.open(url, init);
      if (reader.status !== 503) return reader;
      await sleep(Number(reader.headers.get('retry-after-ms') ?? 1000));
    }
  }

  /** What came so far, up to the last whole frame, without comments. */
  get bytes(): Buffer {
    const { raw } = this;
    const text = raw.subarray(0, endOfFrames(raw)).toString();
    return Buffer.from(text.replaceAll(/^:[^\n]*\n\n/gm, ''));
  }

  /** Everything that came, comments included. */
  get raw(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Each frame is decoded once, however often somebody looks. */
  get events(): RunEvent[] {
    const { chunks, rest } = this.#decoded;
    const bytes = Buffer.concat([rest, ...this.#chunks.slice(chunks)]);
    const end = endOfFrames(bytes);
    this.#events.push(...decodeFrames(bytes.subarray(0, end)));
    this.#decoded = { chunks: this.#chunks.length, rest: bytes.subarray(end) };
    return [...this.#events];
  }

  /** Waits until the events so far satisfy `enough`. Rejects when the stream ends before. */
  async until(enough: (events: RunEvent[]) => boolean, options: { timeoutMs?: number } = {}): Promise<RunEvent[]> {
    const limit = AbortSignal.timeout(options.timeoutMs ?? patience(20));
    for (;;) {
      const events = this.events;
      if (enough(events)) return events;
      if (this.#ended) throw new Error(`the stream ended first:\n${this.raw.toString().slice(-2000)}`);
      if (limit.aborted) throw new Error(`nothing of the kind came in time:\n${this.raw.toString().slice(-2000)}`);
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
        setTimeout(resolve, 500);
      });
    }
  }

  /** Waits for the end of the stream, in order or not. */
  async end(): Promise<RunEvent[]> {
    await this.#done;
    return this.events;
  }

  /** Leaves, as a client that was closed. */
  leave(): void {
    this.#controller.abort();
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const chunk of response.body ?? []) {
        this.#chunks.push(chunk);
        this.#wake();
      }
    } catch {
      // Cut by either side: what came is what a client has.
    } finally {
      this.#ended = true;
      this.#wake();
    }
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

function endOfFrames(bytes: Buffer): number {
  const end = bytes.lastIndexOf('\n\n');
  return end === -1 ? 0 : end + 2;
}
