import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { byType, optional, pickSchema, schemaRef } from './parse.ts';

/** The output formats that a request can demand. */

const jsonSchemaBody = {
  name: optional(z.string().min(1).max(64)),
  schema: z.custom<JsonObject>(isObject, 'expected a JSON Schema object').meta({ type: 'object' }),
  strict: optional(z.boolean()),
  description: optional(z.string()),
};

const plainText = z.object({ type: z.literal('text') });
const jsonObject = z.object({ type: z.literal('json_object') });
const jsonSchema = z.object({ type: z.literal('json_schema'), ...jsonSchemaBody });
const formats = { text: plainText, json_object: jsonObject, json_schema: jsonSchema };

/** `text.format` of Responses. */
export const textFormat = pickSchema((value) => byType(value, formats, 'use text, json_object or json_schema')).meta(
  schemaRef('TextFormat'),
);
export type TextFormat = z.output<typeof textFormat>;

const chatJsonSchema = z
  .object({ type: z.literal('json_schema'), json_schema: z.object(jsonSchemaBody) })
  .transform((format): TextFormat => ({ type: 'json_schema', ...format.json_schema }));

/** `response_format` of chat completions, converted to `text.format`. */
export const chatResponseFormat = pickSchema((value) =>
  isObject(value) && value.type === 'json_schema' ? chatJsonSchema : textFormat,
).meta(schemaRef('ResponseFormat'));

/** For the API description, by component name. */
export const formatComponents = {
  TextFormat: z.union([plainText, jsonObject, jsonSchema]),
  ResponseFormat: z.union([plainText, jsonObject, chatJsonSchema]),
};
