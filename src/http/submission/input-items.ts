import { isObject, type JsonObject } from '../../base/json.ts';
import { isBareReference, isCompactionTrigger } from '../../protocol/requests/request-input.ts';
import { createItemLookup, type ReferenceContext } from './references.ts';

/**
 * Input items as the client sent them, but each with its type, for `input_items` (docs/api.md, "The other Responses
 * endpoints"). A string becomes one user message.
 */
export function normalizeItems(input: unknown, part: 'input_text' | 'text'): JsonObject[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', content: [{ type: part, text: input }] }];
  }
  const items = Array.isArray(input)
    ? input.filter((item): item is JsonObject => isObject(item) && !isCompactionTrigger(item))
    : [];
  return items.map((item) =>
    item.type == null ? { ...item, type: isBareReference(item) ? 'item_reference' : 'message' } : item,
  );
}

/**
 * As `normalizeItems`, with references replaced by their items, which may be gone when the input is read again.
 * @throws GatewayError as `createItemLookup`.
 */
export async function dereferenceItems(input: unknown, context: ReferenceContext): Promise<JsonObject[]> {
  const items = normalizeItems(input, 'input_text');
  const findItem = createItemLookup(items, context);
  const resolved: JsonObject[] = [];
  for (const [at, item] of items.entries()) {
    const isReference = item.type === 'item_reference';
    resolved.push(isReference ? await findItem(String(item.id), `${context.field}[${at}].id`) : item);
  }
  return resolved;
}
