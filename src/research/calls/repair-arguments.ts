import { isObject, parseJson } from '../../base/json.ts';
import { fitsShape, type JsonShape } from '../../protocol/requests/json-spans.ts';
import { repairJson } from '../../upstream/dialects/json-repair.ts';

/**
 * Larger arguments are not a sensible call, and every step of the run would have to process them again. Lengths are in
 * UTF-16 code units; arguments up to `ALWAYS_FINE` need no check of their shape.
 */
const MAX_LENGTH = 500_000;
const MAX_SHAPE: JsonShape = { depth: 100, containers: 5000, members: 10_000, entries: 20_000 };
const ALWAYS_FINE = 100;
/** How much is stored of arguments that are refused for their size. */
const STORED_LENGTH = 10_000;

/**
 * The arguments of a tool call as JSON text of an object (docs/research.md, "Tools"). Broken JSON as models write it is
 * repaired; if that fails, or if there is too much of it, the text is stored as `{"raw": "<text>"}`.
 */
export function repairArguments(text: string): { arguments: string; ok: boolean } {
  if (text.trim() === '') return { arguments: '{}', ok: true };
  if (isTooMuch(text)) return { arguments: JSON.stringify({ raw: text.slice(0, STORED_LENGTH) }), ok: false };
  const parsed = parseJson(text);
  if (isObject(parsed)) return { arguments: text, ok: true };
  // Some models encode the JSON text once more as a string.
  const value = repairJson(typeof parsed === 'string' ? parsed : text)?.value;
  if (isObject(value)) return { arguments: JSON.stringify(value), ok: true };
  return { arguments: JSON.stringify({ raw: text }), ok: false };
}

/** Whether arguments are more than a tool of the gateway is called with. */
export function isTooMuch(text: string): boolean {
  if (text.length <= ALWAYS_FINE) return false;
  return text.length > MAX_LENGTH || !fitsShape(Buffer.from(text), MAX_SHAPE);
}
