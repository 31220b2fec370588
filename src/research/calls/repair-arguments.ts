import { isObject, parseJson } from '../../base/json.ts';
import { repairJson } from '../../upstream/dialects/json-repair.ts';

/**
 * The arguments of a tool call as JSON text of an object (contract section 10). Broken JSON as models write it is
 * repaired; where that fails the text is kept as `{"raw": "<text>"}`.
 */
export function repairArguments(text: string): { arguments: string; ok: boolean } {
  if (text.trim() === '') return { arguments: '{}', ok: true };
  const parsed = parseJson(text);
  if (isObject(parsed)) return { arguments: text, ok: true };
  // Some models encode the JSON text once more as a string.
  const value = repairJson(typeof parsed === 'string' ? parsed : text)?.value;
  if (isObject(value)) return { arguments: JSON.stringify(value), ok: true };
  return { arguments: JSON.stringify({ raw: text }), ok: false };
}
