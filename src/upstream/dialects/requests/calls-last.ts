import { isObject, type JsonObject } from '../../../base/json.ts';
import type { Lesson } from './traits.ts';

/**
 * Items of one turn in the order in which DeepSeek's Responses API wants them back: what was thought and said, then its
 * calls, then their outputs. Others want the order in which they came.
 */
export function callsLast<Item extends JsonObject>(items: readonly Item[]): Item[] {
  return [...items.filter((item) => !isCall(item)), ...items.filter(isCall)];
}

/** A call whose output is not found, because something stands between the two. */
export const learnCallsLast: Lesson = ({ text, body: { input } }, traits) => {
  if (traits.callsLast || !/no tool output found|tool (?:output|result).{0,40}(?:missing|not found)/i.test(text))
    return false;
  if (!Array.isArray(input) || !input.some((item, at) => isCall(item) && isSpoken(input[at + 1]))) return false;
  traits.callsLast = true;
  return true;
};

function isCall(item: unknown): boolean {
  return isObject(item) && (item.type === 'function_call' || item.type === 'custom_tool_call');
}

function isSpoken(item: unknown): boolean {
  return isObject(item) && (item.type === 'message' || item.type === 'reasoning' || item.role === 'assistant');
}
