import type { ResponseObject } from '../../../protocol/response.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import { loopOf, readPlainRequest, storedProfile } from '../../stored/stored-request.ts';
import type { ReasoningStyle } from './reasoning-events.ts';

/** How the log of a run presents its items and its reasoning. */
export function presentationOf(run: RunRecord, response: ResponseObject) {
  const encryptsReasoning = readPlainRequest(run)?.encryptedReasoning ?? false;
  return { profile: storedProfile(run), reasoningStyle: reasoningStyleOf(run, response), encryptsReasoning };
}

/**
 * Reasoning of a plain model appears as its provider sends it, whatever the profile (docs/api.md, "Responses of
 * plain models").
 */
function reasoningStyleOf(run: RunRecord, { reasoning }: ResponseObject): ReasoningStyle {
  if (loopOf(run) === 'research' && storedProfile(run) === 'openai') return 'summary';
  return reasoning.summary === null ? 'text' : 'text and summary';
}
