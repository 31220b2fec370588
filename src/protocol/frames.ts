import { GatewayError } from '../base/errors.ts';
import { isObject, parseJson } from '../base/json.ts';
import { upgradeEvent } from './event-upgrade.ts';
import type { RunEvent } from './events.ts';

/** Server-sent events as bytes (docs/api.md, "Events"): `event: <type>`, `data: <json>`, a blank line. */

/** Headers of every stream: proxies on the way must neither buffer nor compress it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

const decoder = new TextDecoder();
const DATA_PREFIX = '\ndata: ';

/**
 * Parses a stored event and checks only its envelope: this code or an earlier version wrote it, and validating each
 * delta completely would cost more than parsing it.
 * @throws GatewayError `internal_error` if the envelope is broken.
 */
function parseEvent(text: string): RunEvent {
  const event: unknown = parseJson(text);
  if (isStoredEvent(event)) return upgradeEvent(event);
  throw new GatewayError('internal_error', 'A stored event cannot be read.');
}

function isStoredEvent(event: unknown): event is RunEvent {
  return isObject(event) && typeof event.type === 'string' && Number.isSafeInteger(event.sequence_number);
}

/** Decodes the events in consecutive frames. The frames must be the gateway's own: they are not validated. */
export function decodeFrames(frames: Uint8Array): RunEvent[] {
  return [...iterateEvents(frames)];
}

/** Like `decodeFrames`, but parses each event only when it is consumed. */
export function* iterateEvents(frames: Uint8Array): Generator<RunEvent, void> {
  const text = decoder.decode(frames);
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n\n', from);
    const start = text.indexOf(DATA_PREFIX, from);
    if (end === -1 || start === -1) return;
    if (start < end) yield parseEvent(text.slice(start + DATA_PREFIX.length, end));
    from = end + 2;
  }
}
