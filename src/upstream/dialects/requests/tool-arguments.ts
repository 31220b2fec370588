import { isObject, parseJson } from '../../../base/json.ts';
import { repairJson } from '../json-repair.ts';

/**
 * The arguments of an earlier call as a JSON object, repaired if need be: chat templates raise on anything else. Many models
 * write none at all for a function without parameters.
 */
export function objectArguments(text: string): string {
  if (text.trim() === '') return '{}';
  if (isObject(parseJson(text))) return text;
  const repaired = repairJson(text)?.value;
  return JSON.stringify(isObject(repaired) ? repaired : { raw: text });
}

/** The input of a custom tool's call: `input` of an object, or the whole text where the model left the object out. */
export function customText(args: string): string {
  const value = parseJson(args);
  return isObject(value) && typeof value.input === 'string' ? value.input : args;
}
