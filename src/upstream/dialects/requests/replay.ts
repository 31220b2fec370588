import { isObject, type JsonObject } from '../../../base/json.ts';
import type { AssistantMessage } from '../../turn.ts';
import { REPLAY_FIELDS } from '../replay-fields.ts';
import { refuses, type Trait } from './trait.ts';

/** The one field with a name of ours; the others have the provider's names. */
const EXTRAS = 'tool_call_extras';

interface Replay {
  /** Whether every assistant message must have `reasoning_content`, even one that came without it. */
  reasoningRequired: boolean;
  /** Replayed fields that were refused. */
  refusedReplay: Set<string>;
}

/**
 * How much of an earlier turn's reasoning is sent back, which is only ever to the provider that produced it. Otherwise
 * providers disagree: DeepSeek and Moonshot answer 400 without the `reasoning_content` of tool-call turns, OpenRouter
 * and Gemini lose track without their signed details, others refuse the fields.
 */
export const replay: Trait<Replay> = {
  start: () => ({ reasoningRequired: false, refusedReplay: new Set() }),
  learn({ text, body }, traits) {
    if (!traits.reasoningRequired && MISSING.some((wording) => wording.test(text))) {
      traits.reasoningRequired = true;
      traits.refusedReplay.delete('reasoning_content');
      return true;
    }
    const sent = sentFields(body.messages).filter((field) => !traits.refusedReplay.has(field));
    const refused = sent.filter((field) => refuses(text, field));
    for (const field of refused) traits.refusedReplay.add(field);
    return refused.length > 0;
  },
  findings(learned, before) {
    const dropped = [...learned.refusedReplay.difference(before.refusedReplay)];
    return [
      ...(learned.reasoningRequired && !before.reasoningRequired ? ['reasoning must be sent back'] : []),
      ...(dropped.length === 0 ? [] : [`refuses to see again: ${dropped.join(', ')}`]),
    ];
  },
};

const MISSING = [
  /reasoning_content.{0,80}(?:missing|required|must be (?:passed|provided|sent|included)|is needed)/is,
  /(?:missing|required|must (?:pass|provide|include)).{0,80}reasoning_content/is,
];

/** The fields of an assistant message to send back to this provider. */
export function replayOf(message: AssistantMessage, provider: string, traits: Replay): JsonObject {
  // Fields stored by another wire have no place in chat completions.
  const isOurs = message.replay?.provider === provider && message.replay.fields.wire === undefined;
  const fields = isOurs ? (message.replay?.fields ?? {}) : {};
  const result: JsonObject = {};
  for (const [field, value] of Object.entries(fields)) {
    if (field === EXTRAS || traits.refusedReplay.has(field)) continue;
    if (message.rebased && isSigned(field, value)) continue;
    if (isWanted(field, fields, message)) result[field] = value;
  }
  if (traits.reasoningRequired && result.reasoning_content === undefined) {
    result.reasoning_content = fields.reasoning_content ?? ' ';
  }
  return result;
}

/** Whether reasoning is signed, and so bound to the history before it: providers refuse it after any other. */
function isSigned(field: string, value: unknown): boolean {
  if (field === 'thinking_blocks') return true;
  return Array.isArray(value) && value.some((part) => isObject(part) && typeof part.signature === 'string');
}

/** The extras that the provider attached to one tool call. */
export function callExtras(message: AssistantMessage, callId: string, provider: string, traits: Replay): JsonObject {
  if (message.replay?.provider !== provider || traits.refusedReplay.has('extra_content')) return {};
  const extras = message.replay.fields[EXTRAS];
  const extra = isObject(extras) ? extras[callId] : undefined;
  return extra === undefined ? {} : { extra_content: extra };
}

/** Plain reasoning is sent back only with tool calls, and only where no details say the same. */
function isWanted(field: string, fields: JsonObject, message: AssistantMessage): boolean {
  if (field !== 'reasoning_content' && field !== 'reasoning') return true;
  if (fields.reasoning_details !== undefined) return false;
  return (message.tool_calls?.length ?? 0) > 0;
}

function sentFields(messages: unknown): string[] {
  if (!Array.isArray(messages)) return [];
  const sent: string[] = REPLAY_FIELDS.filter((field) => messages.some((message) => message?.[field] !== undefined));
  const extras = messages.some((message) =>
    message?.tool_calls?.some?.((call: unknown) => isObject(call) && call.extra_content),
  );
  return extras ? [...sent, 'extra_content'] : sent;
}
