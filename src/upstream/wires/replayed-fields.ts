import type { JsonObject } from '../../base/json.ts';
import type { AssistantMessage } from '../turn.ts';
import { replayKey } from './replay-lessons.ts';
import type { BodyTarget } from './wire.ts';

/**
 * What an earlier turn wants sent back, if this provider and model wrote it and did not refuse it since. Thoughts are
 * encrypted or signed: nobody else can read them.
 */
export function replayedFields(message: AssistantMessage, target: BodyTarget): JsonObject | undefined {
  const { replay } = message;
  if (!replay || replay.provider !== target.provider || replay.fields.model !== target.model) return undefined;
  const { stale } = target.run;
  return stale.size > 0 && stale.has(replayKey(message) ?? '') ? undefined : replay.fields;
}
