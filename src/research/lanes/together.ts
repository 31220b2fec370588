import type { ResearchState } from '../run/state.ts';
import type { Step } from '../run/steps.ts';
import type { TranscriptEntry } from '../run/transcript.ts';

/** A step of a lane: each has an entry, so that all of them have an order. */
export type LaneStep = Extract<Step, { entry?: TranscriptEntry }> & { entry: TranscriptEntry };
/** How a lane came to its end; `thrown`: what it failed with. */
export type LaneEnd = 'ended' | 'paused' | { thrown: unknown };
export type Lane = AsyncGenerator<LaneStep, LaneEnd>;

/**
 * Runs lanes at the same time. Their steps come in the order in which their entries were noted, whatever order they
 * arrive in: so what is stored is always a beginning of what this process knows, and whoever takes the run up counts and
 * numbers as it did. A lane gets no further before its last step was taken.
 * @throws what a lane throws.
 */
export async function* together(lanes: readonly Lane[], { entries }: ResearchState): AsyncGenerator<Step, LaneEnd[]> {
  const arrived: { lane: Lane; step: LaneStep }[] = [];
  const ends: LaneEnd[] = [];
  let failure: { thrown: unknown } | undefined;
  let news = Promise.withResolvers<void>();
  const go = (lane: Lane) => {
    lane
      .next()
      .then(
        (next) => {
          if (next.done) ends.push(next.value);
          else arrived.push({ lane, step: next.value });
        },
        (thrown: unknown) => {
          failure ??= { thrown };
        },
      )
      .finally(() => news.resolve());
  };
  let taken = entries.length;
  for (const lane of lanes) go(lane);
  for (;;) {
    if (failure) throw failure.thrown;
    // What the run itself notes meanwhile is no lane's.
    while (taken < entries.length && entries[taken]?.lane === undefined) taken++;
    const at = arrived.findIndex(({ step }) => step.entry === entries[taken]);
    const [due] = at === -1 ? [] : arrived.splice(at, 1);
    if (due) {
      taken++;
      yield due.step;
      go(due.lane);
    } else if (ends.length === lanes.length) return ends;
    else {
      await news.promise;
      news = Promise.withResolvers();
    }
  }
}
