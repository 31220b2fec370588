import { clockOf, knownUpTo } from './clock.js';

const TURNS = {
  research: 'Turn',
  outline: 'Outline',
  answer: 'Writing',
  check: 'Check',
  summary: 'Summary',
  other: 'Other turn',
};

/**
 * Turns and calls of a run with their times, in the order in which they started:
 * `{key, kind, name, item?, turn?, number?, lane, start, end, wait, open}`, in milliseconds since its submission. `wait`: how long a
 * turn was silent at first; `number`: the number of a turn in the timeline. `now`: the end of what is still open. Undefined without times.
 */
export function rowsOf({ items, timeline, now }) {
  const at = clockOf(timeline);
  if (!at) return undefined;
  const known = knownUpTo(timeline);
  const timed = items
    .filter((item) => item !== undefined && item.from <= known)
    .map((item) => ({ item, start: at(item.from), end: item.to !== null && item.to <= known ? at(item.to) : now }));
  const turns = timeline.turns.map((turn, index) => turnRow(turn, { index, timed }));
  const calls = timed
    .filter(({ item }) => item.kind === 'call' || item.kind === 'tools')
    .map(({ item, start, end }) => ({
      key: `call ${item.index}`,
      kind: 'call',
      item,
      lane: item.lane,
      start,
      end: Math.max(start, end),
      wait: 0,
      open: !item.done,
    }));
  return [...turns, ...calls].sort((a, b) => a.start - b.start || a.end - b.end);
}

function turnRow(turn, { index, timed }) {
  const { kind, lane, started_ms: start, ended_ms: end } = turn;
  const turnItems = timed.filter(
    ({ item, start: began }) => began >= start && began <= end && (lane === undefined || item.lane === lane),
  );
  const first = turnItems.reduce((least, { start: began }) => Math.min(least, began), end);
  return {
    key: `turn ${index}`,
    kind: 'turn',
    name: TURNS[kind] ?? 'Turn',
    turn,
    number: index + 1,
    lane,
    start,
    end,
    wait: first - start,
  };
}

/** How long a run waited, thought and used tools, in milliseconds. What happened in parallel counts once. */
export function sharesOf(rows) {
  const spans = (of) => covered(rows.flatMap(of));
  return {
    waiting: spans(({ kind, start, wait }) => (kind === 'turn' && wait > 0 ? [[start, start + wait]] : [])),
    thinking: spans(({ kind, start, wait, end }) => (kind === 'turn' ? [[start + wait, end]] : [])),
    tools: spans(({ kind, start, end }) => (kind === 'call' ? [[start, end]] : [])),
  };
}

function covered(spans) {
  let sum = 0;
  let until = 0;
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    sum += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return sum;
}
