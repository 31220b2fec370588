const day = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/**
 * Entries, newest first, as threads: a question with the follow-ups to it, in the order they were asked. A thread stands
 * where its newest entry stood. What the console did not ask itself names the run that it follows, no thread.
 */
export function threadsOf(entries) {
  const keys = new Map();
  for (const { id, thread, previous } of entries.toReversed()) {
    keys.set(id, thread ?? keys.get(previous) ?? previous ?? id);
  }
  const threads = Map.groupBy(entries, ({ id }) => keys.get(id));
  return [...threads].map(([key, found]) => ({ key, newest: found[0].created, entries: found.toReversed() }));
}

/** Threads by the day of their newest entry: `{day, threads}`, in the reader's time zone. */
export function daysOf(threads, now = Date.now()) {
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

/** When a day begins in the reader's time zone, in Unix milliseconds; undefined where the text names none. `plus`: days later. */
export function dayStart(text, plus = 0) {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + plus);
  return Number.isNaN(start.getTime()) ? undefined : start.getTime();
}

/** Whether every word that is looked for stands in one of the texts. */
export function fits(query, texts) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}
