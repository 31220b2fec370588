import type { JsonObject } from '../../base/json.ts';
import { frameAt, isBlankLine, LF, lineEnd } from './frames.ts';

/** What tells the last event of a stream from others. */
export interface LastEvent {
  /** Bytes, some of which the event contains, and few others. */
  readonly words: readonly Buffer[];
  is(payload: JsonObject): boolean;
}

const DONE = Buffer.from('[DONE]');
/** How much of the last event may come after its data, in bytes. */
const MAX_REST = 256;

/** Finds the end of a stream in its lines: after it nothing is read, even if the provider goes on. */
export class StreamEndFinder {
  readonly #last: LastEvent | undefined;
  /** Set once the last event has come; `open`: only the empty line behind it is missing. */
  state: 'open' | 'closed' | undefined;
  #rest = 0;

  /** `last`: absent if only `[DONE]` is known to be the last event. */
  constructor(last: LastEvent | undefined) {
    this.#last = last;
  }

  /** The lines up to the end of the last event. */
  cut(lines: Buffer): Buffer {
    const last = this.state ? 0 : this.#find(lines);
    if (last === -1) return lines;
    const { end, isClosed } = endOfEvent(lines, last);
    if (this.state) this.#rest += end;
    this.state = isClosed || this.#rest > MAX_REST ? 'closed' : 'open';
    // Some providers of the Responses API add it, and it belongs to the stream.
    const next = isClosed && end < lines.length ? frameAt(lines, end) : undefined;
    return lines.subarray(0, next?.is === 'done' ? endOfEvent(lines, next.end).end : end);
  }

  /** The position after the data of the last event; -1 if the lines do not have it. */
  #find(lines: Buffer): number {
    const last = this.#last;
    if (!lines.includes(DONE) && !last?.words.some((word) => lines.includes(word))) return -1;
    for (let start = 0; start < lines.length; ) {
      const frame = frameAt(lines, start);
      if (frame.is === 'done' || (frame.is === 'payload' && last?.is(frame.payload))) return frame.end;
      start = frame.end;
    }
    return -1;
  }
}

/** How the lines of an event other than its data begin: `event`, `id`, `retry`, comments. */
const OTHER_FIELDS = Buffer.from('eir:');

/** Where an event ends whose data ends at `from`: behind its empty line, or before data or anything else that follows. */
function endOfEvent(lines: Buffer, from: number): { end: number; isClosed: boolean } {
  // The data of an event over several lines ends before their last line break.
  const dataEnd = from > 0 && lines[from - 1] !== LF ? lineEnd(lines, from) : from;
  for (let at = dataEnd; at < lines.length; ) {
    const end = lineEnd(lines, at);
    if (isBlankLine(lines, { start: at, end })) return { end, isClosed: true };
    if (!OTHER_FIELDS.includes(lines[at] ?? LF)) return { end: dataEnd, isClosed: true };
    at = end;
  }
  return { end: lines.length, isClosed: false };
}
