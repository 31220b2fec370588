import { isObject, type JsonObject } from '../../base/json.ts';
import { isBareReference, isTrigger } from '../../protocol/requests/request-input.ts';
import { boundedLookUp, type Referring } from './references.ts';

/**
 * Input items as the client sent them, each with its type, for `input_items` (docs/api.md, "The other Responses
 * endpoints"). A string is one user message.
 */
export function sentItems(input: unknown, part: 'input_text' | 'text'): JsonObject[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', content: [{ type: part, text: input }] }];
  }
  const items = Array.isArray(input)
    ? input.filter((item): item is JsonObject => isObject(item) && !isTrigger(item))
    : [];
  return items.map((item) =>
    item.type == null ? { ...item, type: isBareReference(item) ? 'item_reference' : 'message' } : item,
  );
}

/**
 * The same with what references refer to in their place: it may be gone when they are read again.
 * @throws GatewayError as `boundedLookUp`.
 */
export async function keptItems(input: unknown, referring: Referring): Promise<JsonObject[]> {
  const items = sentItems(input, 'input_text');
  const findItem = boundedLookUp(items, referring);
  const kept: JsonObject[] = [];
  for (const [at, item] of items.entries()) {
    const isReference = item.type === 'item_reference';
    kept.push(isReference ? await findItem(String(item.id), `${referring.field}[${at}].id`) : item);
  }
  return kept;
}
