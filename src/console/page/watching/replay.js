/** Milliseconds between two looks at the clock. */
const TICK_MS = 33;
/** Letters that are written in a second at speed 1, where the log has no times. */
const LETTERS_PER_SECOND = 420;

/** How long an event is worth where no times are known: text takes as long as reading it, calls a moment, in milliseconds. */
export function worthMs({ type, delta = '' }) {
  if (type.endsWith('.delta')) return (delta.length * 1000) / LETTERS_PER_SECOND;
  if (type === 'response.output_item.added') return 140;
  return type === 'response.output_item.done' ? 260 : 4;
}

/**
 * Plays events from a position on: calls `onPosition` as they pass, `onEnd` at the end. Gives what stops it.
 * @param at when events were told, see `clockOf`; null: the pace is made up.
 */
export function play({ events, from, at: timeOf, speed, onPosition, onEnd }) {
  let at = events.findIndex(({ sequence_number }) => sequence_number > from);
  if (at === -1) {
    onEnd();
    return () => {};
  }
  const worth = (index) => {
    if (!timeOf) return worthMs(events[index]);
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
    while (at < events.length && owed >= worth(at)) {
      owed -= worth(at);
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
