/** Events that are told within so many milliseconds share a time. */
const STEP_MS = 200;
/** Times that wait for the next entry; of more every other one is forgotten. */
const MOST = 4000;

/**
 * When the events of a run were told. Their bytes say nothing of it: each transcript entry takes along, as `times`, the
 * times of the batches since the one before it, `[number of their last event, Unix milliseconds]`. What comes behind the
 * last entry of a run has the time of its end.
 */
export class EventTimes {
  #noted: [last: number, at: number][] = [];

  /** Notes that the events up to `last` are told now. */
  note(last: number, at: number): void {
    const [before, previous] = this.#noted.slice(-2);
    if (before && previous && previous[1] - before[1] < STEP_MS) this.#noted.pop();
    this.#noted.push([last, at]);
    if (this.#noted.length > MOST) this.#noted = this.#noted.filter((_, index) => index % 2 === 1);
  }

  /** Gives entries, JSON texts, what was noted since the last ones. */
  giveTo(entries: readonly string[]): readonly string[] {
    const last = entries.at(-1);
    if (last === undefined || this.#noted.length === 0) return entries;
    const timed = `${last.slice(0, -1)},"times":${JSON.stringify(this.#noted)}}`;
    this.#noted = [];
    return [...entries.slice(0, -1), timed];
  }
}
