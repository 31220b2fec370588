/** The sum of a metric over its labels in Prometheus text; 0 if it is missing. */
export function gauge(text, name) {
  let sum = 0;
  for (const [, value] of text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? ([\\d.e+-]+)$`, 'gm')))
    sum += Number(value);
  return sum;
}

/** How much a counter grew per second between two readings. */
export function rateBetween({ now, before, seconds }, name) {
  if (now === '' || before === '') return 0;
  return Math.max(0, Math.round(((gauge(now, name) - gauge(before, name)) / seconds) * 10) / 10);
}
