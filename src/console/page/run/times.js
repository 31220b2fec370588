/** Runs whose times are remembered in this tab. */
const MAX_RUNS = 30;
const NAME = 'times';

function all() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(NAME) ?? '{}');
    return kept !== null && typeof kept === 'object' ? kept : {};
  } catch {
    return {};
  }
}

/** When the items of a run began and ended while this tab watched: `{[index]: [start, end]}`. */
export function loadTimes(id) {
  return all()[id] ?? {};
}

export function saveTimes(id, times) {
  if (Object.keys(times).length === 0) return;
  const kept = Object.entries(all()).filter(([other]) => other !== id);
  const latest = Object.fromEntries([...kept.slice(-(MAX_RUNS - 1)), [id, times]]);
  try {
    sessionStorage.setItem(NAME, JSON.stringify(latest));
  } catch {
    // Full or forbidden: durations are not shown after a reload.
  }
}
