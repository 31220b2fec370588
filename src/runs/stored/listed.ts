import { z } from 'zod';
import { parseJson } from '../../base/json.ts';
import { type ResponseObject, responseListEntry } from '../../protocol/response.ts';
import type { RunSummary } from '../../store/run-store.ts';

const { usage, incomplete_details, previous_response_id } = responseListEntry.shape;
/** What lists say of a run that its record does not (`RunRecord.listed`). Earlier versions stored nothing of it. */
const listed = z.looseObject({
  usage: usage.default(null),
  incomplete_details: incomplete_details.default(null),
  previous_response_id: previous_response_id.default(null),
});

/** As it is stored: with the run, and again with its end. */
export function listedOf({ status, usage, incomplete_details, previous_response_id }: ResponseObject): string {
  return JSON.stringify({
    ...(status !== 'in_progress' && { usage }),
    ...(incomplete_details && { incomplete_details }),
    ...(previous_response_id !== null && { previous_response_id }),
  });
}

/** What was stored; what cannot be read counts as nothing. */
export function readListed(run: Pick<RunSummary, 'listed'>): z.output<typeof listed> {
  return listed.safeParse(parseJson(run.listed)).data ?? NOTHING;
}

const NOTHING = listed.parse({});
