const day = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/**
 * Groups entries, newest first, into threads: a question with its follow-ups in the order they were asked. A thread takes the
 * place of its newest entry. Runs of other clients name the run that they follow, not the thread.
 */
export function groupThreads(entries) {
  const keys = new Map();
  for (const { id, thread, previous } of entries.toReversed()) {
    keys.set(id, thread ?? keys.get(previous) ?? previous ?? id);
  }
  const threads = Map.groupBy(entries, ({ id }) => keys.get(id));
  return [...threads].map(([key, found]) => ({ key, newest: found[0].created, entries: found.toReversed() }));
}

/** Groups threads by the day of their newest entry, in the reader's time zone: `{day, threads}`. */
export function groupByDay(threads, now = Date.now()) {
  const days = Map.groupBy(threads, ({ newest }) => dayOf(newest, now));
  return [...days].map(([name, found]) => ({ day: name, threads: found }));
}

function dayOf(ms, now) {
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  const name = day.format(ms);
  if (name === day.format(now)) return 'Today';
  return name === day.format(yesterday) ? 'Yesterday' : name;
}

/** The start of a day in the reader's time zone, in Unix milliseconds; undefined if the text is not a day. `plus`: days later. */
export function dayStart(text, plus = 0) {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + plus);
  return Number.isNaN(start.getTime()) ? undefined : start.getTime();
}

/** Whether every word of the query is in one of the texts. */
export function matchesQuery(query, texts) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}
