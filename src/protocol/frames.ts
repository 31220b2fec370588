import type { RunEvent } from './events.ts';

/** Server-sent events as bytes (contract section 4): `event: <type>`, `data: <json>`, a blank line. */

const decoder = new TextDecoder();

/** The events in joined frames, as the gateway itself wrote them. Foreign bytes are not expected here. */
export function decodeFrames(frames: Uint8Array): RunEvent[] {
  const events: RunEvent[] = [];
  for (const frame of decoder.decode(frames).split('\n\n')) {
    const start = frame.indexOf('\ndata: ');
    if (start !== -1) events.push(JSON.parse(frame.slice(start + 7)));
  }
  return events;
}

const NEWLINE = 10;

/** `frames` without its first `count` frames. JSON holds no raw newline, so a blank line always ends a frame. */
export function skipFrames(frames: Uint8Array, count: number): Uint8Array {
  let offset = 0;
  for (let skipped = 0; skipped < count; skipped++) {
    let end = frames.indexOf(NEWLINE, offset);
    while (end !== -1 && frames[end + 1] !== NEWLINE) end = frames.indexOf(NEWLINE, end + 1);
    if (end === -1) return frames.subarray(frames.length);
    offset = end + 2;
  }
  return frames.subarray(offset);
}
