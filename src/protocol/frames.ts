import { GatewayError } from '../base/errors.ts';
import { isObject, parseJson } from '../base/json.ts';
import { upgradeEvent } from './event-upgrade.ts';
import type { RunEvent } from './events.ts';

/** Server-sent events as bytes (docs/api.md, "Events"): `event: <type>`, `data: <json>`, a blank line. */

/** Headers of every stream: what stands in between must neither buffer nor compress it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

const decoder = new TextDecoder();

/**
 * A stored event. Its envelope is checked and no more: an event was made by this code or its former versions, and a whole
 * check of each delta would cost more than reading it.
 * @throws GatewayError `internal_error` if it is not whole.
 */
function parseEvent(text: string): RunEvent {
  const event: unknown = parseJson(text);
  if (isStoredEvent(event)) return upgradeEvent(event);
  throw new GatewayError('internal_error', 'A stored event cannot be read.');
}

function isStoredEvent(event: unknown): event is RunEvent {
  return isObject(event) && typeof event.type === 'string' && Number.isSafeInteger(event.sequence_number);
}

/** The events in joined frames, as the gateway itself wrote them. Foreign bytes are not expected here. */
export function decodeFrames(frames: Uint8Array): RunEvent[] {
  return [...eventsIn(frames)];
}

/** The events in joined frames, each parsed when it is asked for. */
export function* eventsIn(frames: Uint8Array): Generator<RunEvent, void> {
  const text = decoder.decode(frames);
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n\n', from);
    const start = text.indexOf('\ndata: ', from);
    if (end === -1 || start === -1) return;
    if (start < end) yield parseEvent(text.slice(start + 7, end));
    from = end + 2;
  }
}
