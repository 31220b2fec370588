import { isObject, type JsonObject } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface CallsLast {
  /** Whether a turn goes back to the Responses API with its calls after its messages and reasoning. */
  callsLast: boolean;
}

/** DeepSeek's Responses API finds no output for a call that a message follows; others want the original order. */
export const callsLast: Trait<CallsLast> = {
  start: () => ({ callsLast: false }),
  learn({ text, body: { input } }, traits) {
    if (traits.callsLast || !/no tool output found|tool (?:output|result).{0,40}(?:missing|not found)/i.test(text)) {
      return false;
    }
    traits.callsLast =
      Array.isArray(input) && input.some((item, at) => isCall(item) && isMessageOrReasoning(input[at + 1]));
    return traits.callsLast;
  },
};

/** The items of one turn, reasoning and messages before calls. */
export function withCallsLast(items: readonly JsonObject[]): JsonObject[] {
  return [...items.filter((item) => !isCall(item)), ...items.filter(isCall)];
}

function isCall(item: unknown): boolean {
  return isObject(item) && (item.type === 'function_call' || item.type === 'custom_tool_call');
}

function isMessageOrReasoning(item: unknown): boolean {
  return isObject(item) && (item.type === 'message' || item.type === 'reasoning' || item.role === 'assistant');
}
