import { z } from 'zod';
import { parseJson } from '../../base/json.ts';
import { type ResponseObject, responseListEntry } from '../../protocol/response.ts';
import type { RunSummary } from '../../store/run-store.ts';

const { usage, incomplete_details, previous_response_id } = responseListEntry.shape;
/** What lists show of a run beyond its record (`RunRecord.listed`). Earlier versions did not store it. */
const listed = z.looseObject({
  /** Set if the response is `incomplete`: its record is `completed` then. */
  status: z.literal('incomplete').optional(),
  usage: usage.default(null),
  incomplete_details: incomplete_details.default(null),
  previous_response_id: previous_response_id.default(null),
});

/** The stored form: written with the run, and again with its end. */
export function listedOf({ status, usage, incomplete_details, previous_response_id }: ResponseObject): string {
  return JSON.stringify({
    ...(status === 'incomplete' && { status }),
    ...(status !== 'in_progress' && { usage }),
    ...(incomplete_details && { incomplete_details }),
    ...(previous_response_id !== null && { previous_response_id }),
  });
}

/** Reads the stored form; defaults if it cannot be read. */
export function readListed(run: Pick<RunSummary, 'listed'>): z.output<typeof listed> {
  return listed.safeParse(parseJson(run.listed)).data ?? DEFAULTS;
}

const DEFAULTS = listed.parse({});
