import type { ResearchState } from '../run/state.ts';
import type { Step } from '../run/steps.ts';
import type { TranscriptEntry } from '../run/transcript.ts';

/** A step of a lane. Each has an entry, which defines its place in the order of all steps. */
export type LaneStep = Extract<Step, { entry?: TranscriptEntry }> & { entry: TranscriptEntry };
/** How a lane ended; `thrown`: what it failed with. */
export type LaneEnd = 'ended' | 'paused' | { thrown: unknown };
export type Lane = AsyncGenerator<LaneStep, LaneEnd>;

/**
 * Runs lanes at the same time. Their steps are yielded in the order in which their entries were applied to the state,
 * whatever order they arrive in. So the stored transcript is always a prefix of this process's state, and an instance that
 * resumes the run counts and numbers the same way. A lane does not continue before its last step was consumed.
 * @throws what a lane throws.
 */
export async function* mergeLanes(lanes: readonly Lane[], { entries }: ResearchState): AsyncGenerator<Step, LaneEnd[]> {
  const arrived: { lane: Lane; step: LaneStep }[] = [];
  const ends: LaneEnd[] = [];
  let failure: { thrown: unknown } | undefined;
  let news = Promise.withResolvers<void>();
  const advance = (lane: Lane) => {
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
  let yielded = entries.length;
  for (const lane of lanes) advance(lane);
  for (;;) {
    if (failure) throw failure.thrown;
    // Entries that the run itself adds meanwhile belong to no lane.
    while (yielded < entries.length && entries[yielded]?.lane === undefined) yielded++;
    const at = arrived.findIndex(({ step }) => step.entry === entries[yielded]);
    const [due] = at === -1 ? [] : arrived.splice(at, 1);
    if (due) {
      yielded++;
      yield due.step;
      advance(due.lane);
    } else if (ends.length === lanes.length) return ends;
    else {
      await news.promise;
      news = Promise.withResolvers();
    }
  }
}
