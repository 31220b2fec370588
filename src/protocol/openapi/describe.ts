import { z } from 'zod';
import { isObject } from '../../base/json.ts';

/** Converts schemas for the API description, so that typed clients can be generated from it. */

/** The JSON Schema of a schema's input, before its transforms. */
export function inputJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(described));
}

/**
 * Makes the optional fields of a body nullable, because null means absent (docs/api.md, "In general"). Changes the JSON
 * Schema in place.
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
