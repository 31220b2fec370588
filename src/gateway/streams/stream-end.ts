import { isJsonObject, isObject, type JsonObject } from '../../base/json.ts';
import { deliveredWeight, type TurnUsage } from '../../upstream/provider-answer.ts';
import { usageOfPayload } from '../answers/reported-usage.ts';
import { payloadsFromEnd } from './frames.ts';

/** Where a usage object may stand in an event. */
const USAGE = /"usage"\s{0,16}:\s{0,16}\{/;

/**
 * What a stream reported of its usage last; a count of nothing does not replace one of something. `text`: its last events;
 * `first`: its first payload. `midway`: more was delivered behind it.
 */
export function usageAtEnd(
  text: string,
  { api, first }: { api: string; first: JsonObject | undefined },
): { usage: TurnUsage | null; midway: boolean } {
  const told = usageOfStart(first);
  let nothing: TurnUsage | null = null;
  // It stands near the end, where it is told.
  for (const { payload, end } of text.lastIndexOf('"usage"') === -1 ? [] : payloadsFromEnd(text, USAGE)) {
    const usage = usageOfPayload(payload, api, told);
    if (usage && usage.inputTokens + usage.outputTokens === 0) nothing ??= usage;
    else if (usage) return { usage, midway: deliveredWeight(text.slice(end), { api, streamed: true }) > 0 };
  }
  return { usage: nothing ?? (first ? usageOfPayload(first, api) : null), midway: true };
}

/**
 * The estimated tokens of an answer that stands in the last events of its stream as a whole: of a response, whose provider may
 * have sent no delta of it.
 */
export function weightAtEnd(text: string, api: string): number {
  if (api !== 'responses') return 0;
  for (const { payload } of payloadsFromEnd(text, WHOLE_RESPONSE)) {
    const output = isObject(payload.response) ? payload.response.output : undefined;
    if (Array.isArray(output)) return deliveredWeight(JSON.stringify(output), { api, streamed: false });
  }
  return 0;
}

const WHOLE_RESPONSE = /"response"\s{0,16}:\s{0,16}\{/;

/** Anthropic's Messages tell of the input in their first event, and some never again. */
function usageOfStart(first: JsonObject | undefined): JsonObject | undefined {
  const message = first?.type === 'message_start' ? first.message : undefined;
  return isJsonObject(message) && isJsonObject(message.usage) ? message.usage : undefined;
}

/** What of `ours` is still to be sent. `told`: the provider's own error, which went out: it may say what ours would. */
export function failurePayloads(ours: [JsonObject, ...JsonObject[]], told: JsonObject | undefined): JsonObject[] {
  const [chunk, ...more] = ours;
  if (!isObject(told?.error)) return ours;
  const saysAll =
    chunk.choices === undefined || JSON.stringify(told.choices ?? null).includes('"finish_reason":"error"');
  return saysAll ? more : ours;
}
