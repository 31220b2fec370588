import { z } from 'zod';
import { isObject } from '../../base/json.ts';

/** What the description of the API says beyond its schemas, so that clients with types can be made from it. */

/** JSON Schema of what a schema takes, before it is transformed. */
export function inputJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(described));
}

/**
 * A body in which null stands for an absent field (docs/api.md, "In general") takes null in every field that may be
 * absent.
 */
export function allowNulls(schema: unknown): void {
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
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    anyOf: [rest, { type: 'null' }],
  };
}
