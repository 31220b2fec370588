import { isObject } from '../../base/json.ts';

/** What the description of the API says beyond its schemas, so that clients with types can be made from it. */

/** The name of an event's schema: `ResponseOutputTextDeltaEvent` for `response.output_text.delta`. */
export function eventSchemaName(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}

/** A body in which null stands for an absent field (contract section 10) takes null in every field that may be absent. */
export function withNulls(schema: unknown): void {
  if (!isObject(schema) || !isObject(schema.properties)) return;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties: Record<string, unknown> = schema.properties;
  for (const [name, property] of Object.entries(properties)) {
    if (!required.includes(name) && isObject(property)) properties[name] = nullable(property);
  }
}

function nullable(schema: Record<string, unknown>): Record<string, unknown> {
  const { description, deprecated, ...rest } = schema;
  if (Object.keys(rest).length === 0) return schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated }),
    anyOf: [rest, { type: 'null' }],
  };
}
