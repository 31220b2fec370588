import type { JsonObject } from '../../base/json.ts';

/** Whether a call names its tool. One that does not is dropped, as if the provider had not sent it. */
export function hasName(call: JsonObject): call is JsonObject & { name: string } {
  return typeof call.name === 'string' && call.name !== '';
}
