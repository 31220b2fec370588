import { z } from 'zod';
import { ID_PREFIX } from '../../base/ids.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import type { Timeline, TimelineTurn } from '../../protocol/timeline.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { TurnUsage } from '../../upstream/turn.ts';
import { parseStored } from '../stored/stored-data.ts';

const count = z.number().nonnegative().default(0);

/** The times and usage in a transcript entry; `times` as written by `EventTimes`, absent in earlier versions. */
const timedEntry = z.object({
  t: z.string(),
  times: z.array(z.tuple([z.int(), z.number()])).default([]),
  lane: z.int().positive().optional().catch(undefined),
  usage: z
    .object({
      inputTokens: count,
      cachedTokens: count,
      outputTokens: count,
      reasoningTokens: count,
      cost: z.number().optional(),
    })
    .optional(),
});

const KINDS: Readonly<Record<string, TimelineTurn['kind']>> = {
  turn: 'research',
  outline: 'outline',
  draft: 'answer',
  section: 'answer',
  answered: 'answer',
  checked: 'check',
  compacted: 'summary',
};

type TimedRun = Pick<RunRecord, 'id' | 'createdAt' | 'startedAt' | 'endedAt' | 'last'>;

/** A timeline to which the caller adds the currency. */
export type RunTimeline = Omit<Timeline, 'currency'>;

/** When the events of a run were recorded, and what each turn of its model used, from its transcript. */
export async function timelineOf(run: TimedRun, entries: readonly string[]): Promise<RunTimeline> {
  const times: [number, number][] = [];
  const turns: TimelineTurn[] = [];
  /** When the latest entry of each lane was written, which is when its next turn began. */
  const previousAt = new Map<number | undefined, number>();
  let last = run.createdAt;
  await inSlices(entries, (text) => {
    const { t, lane, usage, times: noted } = parseStored(timedEntry, text, 'transcript entry');
    // The clocks of instances that drove the run in turn may differ: do not let time go backwards.
    for (const [number, at] of noted) {
      last = Math.max(last, at);
      // Events of a refused end were recorded again later, with the same numbers.
      while ((times.at(-1)?.[0] ?? 0) > number) times.pop();
      if (times.at(-1)?.[0] !== number) times.push([number, since(run, last)]);
    }
    const turnStart = previousAt.get(lane) ?? run.startedAt ?? run.createdAt;
    if (usage && isTurn({ usage }))
      turns.push({
        kind: KINDS[t] ?? 'other',
        ...(lane === undefined ? {} : { lane }),
        started_ms: since(run, Math.min(turnStart, last)),
        ended_ms: since(run, last),
        input_tokens: usage.inputTokens,
        cached_tokens: usage.cachedTokens,
        output_tokens: usage.outputTokens,
        reasoning_tokens: usage.reasoningTokens,
        cost: usage.cost ?? null,
      });
    previousAt.set(lane, last);
  });
  if (times.length > 0 && run.endedAt !== null && times.at(-1)?.[0] !== run.last)
    times.push([run.last, since(run, Math.max(last, run.endedAt))]);
  const id = ID_PREFIX.responses + run.id;
  const recorded = times.length > 0 ? { times, turns } : { times: [], turns: [] };
  return { object: 'response.timeline', id, created_ms: run.createdAt, ...recorded };
}

/** Whether an entry records a turn of the model: one that used tokens. */
export function isTurn(entry: { usage?: Pick<TurnUsage, 'inputTokens' | 'outputTokens'> } | object): boolean {
  return 'usage' in entry && entry.usage !== undefined && entry.usage.inputTokens + entry.usage.outputTokens > 0;
}

function since(run: TimedRun, at: number): number {
  return Math.max(0, Math.round(at - run.createdAt));
}
