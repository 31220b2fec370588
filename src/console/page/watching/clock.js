/** When events were sent, by the `times` of a run's timeline: `(sequence number) => ms` since its submission; null without times. */
export function clockOf(timeline) {
  const times = timeline?.times ?? [];
  if (times.length === 0) return null;
  return (number) => {
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle][0] >= number) high = middle;
      else low = middle + 1;
    }
    return times[low][1];
  };
}

/** How long an item of a run took, in milliseconds; undefined if it is unknown or 0. */
export function tookMs({ from, to }, timeline) {
  const at = clockOf(timeline);
  if (!at || to === null || to > knownUpTo(timeline)) return undefined;
  return at(to) > at(from) ? at(to) - at(from) : undefined;
}

/** The last event that a run's timeline covers. */
export const knownUpTo = (timeline) => timeline?.times.at(-1)?.[0] ?? 0;
