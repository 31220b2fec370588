import { toSeconds } from '../base/clock.ts';
import { publicId } from '../base/ids.ts';
import type { WEBHOOK_EVENTS } from '../config/schema/webhooks.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';

export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** What a receiver is told: as OpenAI's API has it, what it is about is fetched by its id. */
export interface WebhookEvent {
  id: string;
  object: 'event';
  type: WebhookEventType;
  /** When it ended, in Unix seconds. */
  created_at: number;
  data: { id: string };
}

/** The event that the end of a run is; undefined while it is open. The same whoever asks and whenever. */
export async function eventOf(run: RunRecord, store: Pick<RunStore, 'readLast'>): Promise<WebhookEvent | undefined> {
  const { status, api, endedAt } = run;
  if (status === 'queued' || status === 'in_progress' || endedAt === null) return undefined;
  const isIncomplete = api === 'responses' && status === 'completed' && (await endsIncomplete(run, store));
  const type: WebhookEventType =
    api === 'async' ? `task.${status}` : isIncomplete ? 'response.incomplete' : `response.${status}`;
  return {
    id: `evt_${run.id}`,
    object: 'event',
    type,
    created_at: toSeconds(endedAt),
    data: { id: publicId(api, run.id) },
  };
}

async function endsIncomplete({ id }: RunRecord, store: Pick<RunStore, 'readLast'>): Promise<boolean> {
  const last = await store.readLast(id);
  return last !== undefined && decodeFrames(last.frames).at(-1)?.type === 'response.incomplete';
}
