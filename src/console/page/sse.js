/** The longest frame of an event, in characters. */
const MAX_FRAME = 256 * 1024 * 1024;

/**
 * The events of a server-sent stream, in arrays as they arrive. EventSource cannot send the key in a header, so this reads the
 * stream itself. `onBytes` is called whenever anything arrives, heartbeats included.
 */
export async function* eventsIn(body, { onBytes = () => {} } = {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let searched = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      rest += value;
      if (rest.length > MAX_FRAME) throw new Error('The stream sent a frame that is too long.');
      const events = [];
      let start = 0;
      for (;;) {
        const end = rest.indexOf('\n\n', Math.max(start, searched));
        if (end === -1) break;
        const event = eventOf(rest.slice(start, end));
        if (event) events.push(event);
        start = end + 2;
        searched = start;
      }
      rest = rest.slice(start);
      searched = Math.max(0, rest.length - 1);
      if (events.length > 0) yield events;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The JSON of a frame's data lines; undefined for comments. */
function eventOf(frame) {
  let data = '';
  for (const line of frame.split('\n')) {
    if (line.startsWith('data:')) data += (data === '' ? '' : '\n') + line.slice(line.startsWith('data: ') ? 6 : 5);
  }
  return data === '' ? undefined : JSON.parse(data);
}
