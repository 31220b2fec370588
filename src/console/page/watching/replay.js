/** Milliseconds between two steps of the replay. */
const TICK_MS = 33;
/** Characters written in a second at speed 1, if the log has no times. */
const CHARACTERS_PER_SECOND = 420;

/** How long an event takes if no times are known, in milliseconds: text as long as it takes to read it, calls a moment. */
export function estimatedMs({ type, delta = '' }) {
  if (type.endsWith('.delta')) return (delta.length * 1000) / CHARACTERS_PER_SECOND;
  if (type === 'response.output_item.added') return 140;
  return type === 'response.output_item.done' ? 260 : 4;
}

/**
 * Plays events from a position on: calls `onPosition` as they pass, `onEnd` at the end. Returns a function that stops it.
 * @param at when events were sent, see `clockOf`; null: the pace is estimated.
 */
export function play({ events, from, at: timeOf, speed, onPosition, onEnd }) {
  let at = events.findIndex(({ sequence_number }) => sequence_number > from);
  if (at === -1) {
    onEnd();
    return () => {};
  }
  const durationOf = (index) => {
    if (!timeOf) return estimatedMs(events[index]);
    const before = index === 0 ? 0 : timeOf(events[index - 1].sequence_number);
    return timeOf(events[index].sequence_number) - before;
  };
  let owed = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    owed += (now - before) * speed();
    before = now;
    const start = at;
    while (at < events.length && owed >= durationOf(at)) {
      owed -= durationOf(at);
      at += 1;
    }
    if (at > start) onPosition(events[at - 1].sequence_number);
    if (at >= events.length) {
      clearInterval(timer);
      onEnd();
    }
  }, TICK_MS);
  return () => clearInterval(timer);
}
