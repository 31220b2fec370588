/** Events recorded within this many milliseconds share a time. */
const STEP_MS = 200;
/** How many times may wait for the next transcript entry; beyond that every other one is dropped. */
const MAX_NOTED = 4000;

/**
 * When the events of a run were recorded. Event frames carry no time, so each transcript entry carries, as `times`, those
 * of the batches since the previous entry: `[number of the last event, Unix milliseconds]`. Events after the last entry of
 * a run have the time of its end.
 */
export class EventTimes {
  #noted: [last: number, at: number][] = [];

  /** Notes that the events up to `last` are recorded at `at`, in Unix milliseconds. */
  note(last: number, at: number): void {
    const [before, previous] = this.#noted.slice(-2);
    if (before && previous && previous[1] - before[1] < STEP_MS) this.#noted.pop();
    this.#noted.push([last, at]);
    if (this.#noted.length > MAX_NOTED) this.#noted = this.#noted.filter((_, index) => index % 2 === 1);
  }

  /** Adds the times noted since the previous entries to the last of these entries, which are JSON texts. */
  attachTo(entries: readonly string[]): readonly string[] {
    const last = entries.at(-1);
    if (last === undefined || this.#noted.length === 0) return entries;
    const timed = `${last.slice(0, -1)},"times":${JSON.stringify(this.#noted)}}`;
    this.#noted = [];
    return [...entries.slice(0, -1), timed];
  }
}
