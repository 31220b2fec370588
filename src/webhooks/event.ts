import { toSeconds } from '../base/clock.ts';
import { publicId } from '../base/ids.ts';
import type { WEBHOOK_EVENTS } from '../config/schema/webhooks.ts';
import { decodeFrames } from '../protocol/frames.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';

export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** What is sent to a receiver: as in OpenAI's API, only the id of the response or task, which the receiver fetches. */
export interface WebhookEvent {
  id: string;
  object: 'event';
  type: WebhookEventType;
  /** When it ended, in Unix seconds. */
  created_at: number;
  data: { id: string };
}

/** The event for the end of a run, always the same for a run; undefined while the run is open. */
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
