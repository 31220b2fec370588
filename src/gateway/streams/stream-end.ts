import { isJsonObject, isObject, type JsonObject } from '../../base/json.ts';
import type { TurnUsage } from '../../upstream/provider-answer.ts';
import { lastReportedUsage } from '../answers/reported-usage.ts';

/** What a stream reported of its usage. `text`: its last events; `first`: its first payload. */
export function usageAtEnd(text: string, first: JsonObject | undefined): TurnUsage | null {
  if (!text.includes('"usage"')) return null;
  const told = usageOfStart(first);
  // A frame may be spread over several lines.
  return lastReportedUsage(text, told) ?? lastReportedUsage(text.replaceAll(/\ndata:/g, '\n'), told);
}

/** Anthropic's Messages tell of the input in their first event, and some never again. */
function usageOfStart(first: JsonObject | undefined): JsonObject {
  const message = first?.type === 'message_start' ? first.message : undefined;
  return isJsonObject(message) && isJsonObject(message.usage) ? message.usage : {};
}

/** What of `ours` is still to be sent. `told`: the provider's own error, which went out: it may say what ours would. */
export function failurePayloads(ours: [JsonObject, ...JsonObject[]], told: JsonObject | undefined): JsonObject[] {
  const [chunk, ...more] = ours;
  if (!isObject(told?.error)) return ours;
  const saysAll =
    chunk.choices === undefined || JSON.stringify(told.choices ?? null).includes('"finish_reason":"error"');
  return saysAll ? more : ours;
}
