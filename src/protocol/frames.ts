import { GatewayError } from '../base/errors.ts';
import { isObject, parseJson } from '../base/json.ts';
import type { RunEvent } from './events.ts';
import { asWrittenNow } from './former-events.ts';

/** Server-sent events as bytes (contract section 4): `event: <type>`, `data: <json>`, a blank line. */

const decoder = new TextDecoder();

/**
 * A stored event. Its envelope is checked and no more: an event was made by this code or its former versions, and a whole
 * check of each delta would cost more than reading it.
 * @throws GatewayError `internal_error` where it is none.
 */
function parseEvent(text: string): RunEvent {
  const event: unknown = parseJson(text);
  if (isStoredEvent(event)) return asWrittenNow(event);
  throw new GatewayError('internal_error', 'A stored event cannot be read.');
}

function isStoredEvent(event: unknown): event is RunEvent {
  return isObject(event) && typeof event.type === 'string' && Number.isSafeInteger(event.sequence_number);
}

/** The events in joined frames, as the gateway itself wrote them. Foreign bytes are not expected here. */
export function decodeFrames(frames: Uint8Array): RunEvent[] {
  const events: RunEvent[] = [];
  for (const frame of decoder.decode(frames).split('\n\n')) {
    const start = frame.indexOf('\ndata: ');
    if (start !== -1) events.push(parseEvent(frame.slice(start + 7)));
  }
  return events;
}

/** The events in joined frames, each parsed when it is asked for. */
export function* eventsIn(frames: Uint8Array): Generator<RunEvent, void> {
  const text = decoder.decode(frames);
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n\n', from);
    const start = text.indexOf('\ndata: ', from);
    if (end === -1 || start === -1) return;
    yield parseEvent(text.slice(start + 7, end));
    from = end + 2;
  }
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

const FRAME_END = Buffer.from('\n\n');
const NUMBER = Buffer.from('"sequence_number":');

/**
 * `frames`, which are all of a log from event 1 on, without those up to event `after`. Frames say their number, so the
 * place is found by halving: a reader who comes back near the end of a long log does not wait for a walk through it.
 */
export function framesAfter(frames: Uint8Array, after: number): Uint8Array {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  // The last frame that is left out begins at `low` or between it and `high`.
  let low = 0;
  let high = bytes.length;
  while (high - low > WALKED) {
    const middle = Math.floor((low + high) / 2);
    const next = bytes.indexOf(FRAME_END, middle) + FRAME_END.length;
    // A frame as long as all others together, as the last one of a run may be.
    if (next < FRAME_END.length || next >= high) high = middle + FRAME_END.length;
    else if (numberAt(bytes, next) <= after) low = next;
    else high = next;
  }
  return skipFrames(frames.subarray(low), low === 0 ? after : after - numberAt(bytes, low) + 1);
}

/** Bytes that are walked through rather than halved. */
const WALKED = 4096;

/** The number of the event whose frame begins at `at`: it stands right behind the type. */
function numberAt(bytes: Buffer, at: number): number {
  const start = bytes.indexOf(NUMBER, at) + NUMBER.length;
  return Number.parseInt(bytes.toString('latin1', start, start + 16), 10);
}
