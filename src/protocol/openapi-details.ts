import { isObject } from '../base/json.ts';

/** What the description of the API says beyond its schemas, so that clients with types can be made from it. */

/** Names of the operations, for the methods of generated clients. */
const OPERATION_IDS: Readonly<Record<string, string>> = {
  'post /v1/responses': 'createResponse',
  'get /v1/responses': 'listResponses',
  'get /v1/responses/{id}': 'getResponse',
  'delete /v1/responses/{id}': 'deleteResponse',
  'post /v1/responses/{id}/cancel': 'cancelResponse',
  'get /v1/responses/{id}/input_items': 'listInputItems',
  'get /v1/responses/{id}/report': 'getReport',
  'post /v1/async': 'createTask',
  'get /v1/async': 'listTasks',
  'get /v1/async/{id}': 'getTask',
  'delete /v1/async/{id}': 'deleteTask',
  'post /v1/async/{id}/cancel': 'cancelTask',
  'post /v1/chat/completions': 'createChatCompletion',
  'get /v1/models': 'listModels',
  'get /v1/models/{id}': 'getModel',
  'get /admin/overview': 'getOverview',
};

/** The name of an operation. @throws Error for one that has none: a new endpoint needs one. */
export function operationId(method: string, path: string): string {
  const name = OPERATION_IDS[`${method} ${path}`];
  if (name === undefined) throw new Error(`the operation ${method} ${path} has no name`);
  return name;
}

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
