import { isObject, parseJson } from '../../../base/json.ts';
import { repairJson } from '../json-repair.ts';

/** Arguments of an earlier call to be sent back: chat templates raise on what is not a JSON object, so that is mended. */
export function sentArguments(text: string): string {
  if (isObject(parseJson(text))) return text;
  const repaired = repairJson(text)?.value;
  return JSON.stringify(isObject(repaired) ? repaired : { raw: text });
}

/** The text that a custom tool was called with, which stands in an object; a model that left that out meant the same. */
export function customText(args: string): string {
  const value = parseJson(args);
  return isObject(value) && typeof value.input === 'string' ? value.input : args;
}
