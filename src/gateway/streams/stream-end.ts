import { isJsonObject, isObject, type JsonObject } from '../../base/json.ts';
import { deliveredWeight, type TurnUsage } from '../../upstream/provider-answer.ts';
import { usageOfPayload } from '../answers/reported-usage.ts';
import { payloadsFromEnd } from './frames.ts';

/** The start of a usage object in an event. */
const USAGE = /"usage"\s{0,16}:\s{0,16}\{/;

/**
 * The usage that a stream reported last; a count of zero does not replace an earlier one. `text`: the last events of the
 * stream; `first`: its first payload. `midway`: content followed the report.
 */
export function usageAtEnd(
  text: string,
  { api, first }: { api: string; first: JsonObject | undefined },
): { usage: TurnUsage | null; midway: boolean } {
  const initial = usageOfMessageStart(first);
  let zero: TurnUsage | null = null;
  for (const { payload, end } of text.lastIndexOf('"usage"') === -1 ? [] : payloadsFromEnd(text, USAGE)) {
    const usage = usageOfPayload(payload, api, initial);
    if (usage && usage.inputTokens + usage.outputTokens === 0) zero ??= usage;
    else if (usage) return { usage, midway: deliveredWeight(text.slice(end), { api, streamed: true }) > 0 };
  }
  return { usage: zero ?? (first ? usageOfPayload(first, api) : null), midway: true };
}

/**
 * Estimates the tokens of an answer that the last events of a stream contain in full. Only the Responses API repeats it
 * there, and a provider may have sent no delta of it.
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

/** Anthropic's Messages report the input in their first event, and some providers never again. */
function usageOfMessageStart(first: JsonObject | undefined): JsonObject | undefined {
  const message = first?.type === 'message_start' ? first.message : undefined;
  return isJsonObject(message) && isJsonObject(message.usage) ? message.usage : undefined;
}

/** Those of `ours` that still have to be sent. `sent`: the provider's own error, if it was relayed; it may say the same. */
export function unsentFailurePayloads(ours: [JsonObject, ...JsonObject[]], sent: JsonObject | undefined): JsonObject[] {
  const [chunk, ...more] = ours;
  if (!isObject(sent?.error)) return ours;
  const saysAll =
    chunk.choices === undefined
      ? sent.type === chunk.type
      : JSON.stringify(sent.choices ?? null).includes('"finish_reason":"error"');
  return saysAll ? more : ours;
}
