import { isObject, type JsonObject } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface CallsLast {
  /** Items of the Responses API go back with the calls of a turn behind what was said in it. */
  callsLast: boolean;
}

/** DeepSeek's Responses API finds no output for a call that something was said behind. Others want the order as it came. */
export const callsLast: Trait<CallsLast> = {
  start: () => ({ callsLast: false }),
  learn({ text, body: { input } }, traits) {
    if (traits.callsLast || !/no tool output found|tool (?:output|result).{0,40}(?:missing|not found)/i.test(text)) {
      return false;
    }
    traits.callsLast = Array.isArray(input) && input.some((item, at) => isCall(item) && isSpoken(input[at + 1]));
    return traits.callsLast;
  },
};

/** The items of one turn: what was thought and said, then its calls. */
export function withCallsLast(items: readonly JsonObject[]): JsonObject[] {
  return [...items.filter((item) => !isCall(item)), ...items.filter(isCall)];
}

function isCall(item: unknown): boolean {
  return isObject(item) && (item.type === 'function_call' || item.type === 'custom_tool_call');
}

function isSpoken(item: unknown): boolean {
  return isObject(item) && (item.type === 'message' || item.type === 'reasoning' || item.role === 'assistant');
}
