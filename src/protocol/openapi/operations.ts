import type { ResponseConfig, RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { errorBody } from '../errors.ts';

/** Building blocks of operations in the API description. */

export function listSchema<T extends z.ZodType>(entry: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(entry),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  });
}

export function deletedObject(object: string) {
  return z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });
}

export function jsonResponse(description: string, schema: z.ZodType): ResponseConfig {
  return { description, content: { 'application/json': { schema } } };
}

export function eventStream(schema: z.ZodType) {
  return { 'text/event-stream': { schema } };
}

const errorSchema = errorBody.meta({ id: 'Error' });
const passedError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string().nullish(),
      param: z.string().nullish(),
      code: z.union([z.string(), z.int()]).nullish(),
    }),
  })
  .meta({ id: 'PassedError', description: 'As the provider of a plain model sent it.' });

function failures(schema: z.ZodType): Record<string, ResponseConfig> {
  return {
    '4XX': jsonResponse('Refused; `error.code` says why.', schema),
    '5XX': jsonResponse('Failed; worth a retry unless `x-should-retry` is false.', schema),
  };
}

type Method = RouteConfig['method'];
/** An operation. Its path parameters are strings and are read off the path. */
interface Operation extends Pick<RouteConfig, 'description'> {
  summary: string;
  headers?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Default: JSON. */
  bodyType?: 'multipart/form-data';
  answer: ResponseConfig;
  status?: 201;
  /** Errors of a plain model's provider are passed on. */
  passesErrors?: true;
}

/** The operations of a tag by `method path operationId`. Generated clients name their methods by the operation id. */
export function tagOperations(
  tag: string,
  operations: Readonly<Record<`${Method} /${string} ${string}`, Operation>>,
): RouteConfig[] {
  return Object.entries(operations).map(([name, { answer, status = 200, passesErrors, ...operation }]) => {
    const [method, path = '', operationId = ''] = name.split(' ');
    const { headers, query, body, bodyType = 'application/json', ...texts } = operation;
    const parameters = path.matchAll(/\{(\w+)\}/g).map(([, param = '']) => [param, z.string()]);
    const request = {
      ...(path.includes('{') && { params: z.object(Object.fromEntries(parameters)) }),
      ...(headers && { headers }),
      ...(query && { query }),
      ...(body && { body: { content: { [bodyType]: { schema: body } }, required: true } }),
    };
    const responses = {
      [status]: answer,
      ...failures(passesErrors ? z.union([errorSchema, passedError]) : errorSchema),
    };
    return { method: methodOf(method), path, operationId, tags: [tag], ...texts, request, responses };
  });
}

function methodOf(name: string | undefined): Method {
  return name === 'post' || name === 'patch' || name === 'delete' ? name : 'get';
}
