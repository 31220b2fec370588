import {
  OpenAPIRegistry,
  OpenApiGeneratorV31,
  type ResponseConfig,
  type RouteConfig,
} from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { chatChunk, chatCompletion } from '../chat.ts';
import { errorBody } from '../errors.ts';
import { runEvent } from '../events.ts';
import { modelList, modelObject } from '../models.ts';
import { overview } from '../overview.ts';
import {
  getReportQuery,
  getResponseQuery,
  listInputItemsQuery,
  listResponsesQuery,
  listTasksQuery,
} from '../requests/queries.ts';
import { createChatCompletion, createResponse } from '../requests/requests.ts';
import { responseListEntry, responseObject } from '../response.ts';
import { task, taskEntry } from '../tasks.ts';
import { eventSchemaName, withNulls } from './openapi-details.ts';
import { inputComponents } from './openapi-inputs.ts';

/** The description of the API (OpenAPI 3.1), made from the schemas that parse requests and type answers. */
export function openApiDocument() {
  const registry = new OpenAPIRegistry();
  for (const [name, schema] of Object.entries(inputComponents)) {
    registry.registerComponent('schemas', name, JSON.parse(JSON.stringify(schema)));
  }
  registry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  for (const operation of operations()) registry.registerPath(operation);
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'research-gateway',
      version: '1',
      description: 'Deep research behind the OpenAI API. Ids are `resp_`, `task_` or `chatcmpl-` and a UUID.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
  });
  for (const name of ['CreateResponse', 'CreateChatCompletion']) withNulls(document.components?.schemas?.[name]);
  return document;
}

const response = responseObject.meta({ id: 'Response' });
const event = z
  .union(runEvent.options.map((option) => option.meta({ id: eventSchemaName(option.shape.type.value) })))
  .meta({ id: 'Event', description: 'The `data:` of a frame; `event:` repeats its type.' });
const completion = chatCompletion.meta({ id: 'ChatCompletion' });
const taskObject = task
  .extend({ result: completion.optional() })
  .meta({ id: 'Task', description: 'The `result` of a task on a proxy model is the body of its provider.' });
const chunk = chatChunk.meta({ id: 'ChatCompletionChunk' });
const model = modelObject.meta({ id: 'Model' });
const id = { params: z.object({ id: z.string() }) };
const repeatable = {
  headers: z.object({
    'Idempotency-Key': z
      .string()
      .max(255)
      .optional()
      .meta({ description: 'For 24 hours the same key, user and body gives the same run.' }),
  }),
};
const resumable = {
  headers: z.object({
    'Last-Event-ID': z.string().optional().meta({ description: 'As `after`, which goes before it.' }),
  }),
};

function listOf<T extends z.ZodType>(entry: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(entry),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  });
}

function jsonAnswer(description: string, schema: z.ZodType): ResponseConfig {
  return { description, content: { 'application/json': { schema } } };
}

function jsonBody(schema: z.ZodType) {
  return { content: { 'application/json': { schema } }, required: true };
}

const failures: Record<string, ResponseConfig> = {
  '4XX': jsonAnswer('Refused; `error.code` says why.', errorBody.meta({ id: 'Error' })),
  '5XX': jsonAnswer('Failed; worth a retry unless `x-should-retry` is false.', errorBody.meta({ id: 'Error' })),
};

function streamed(schema: z.ZodType) {
  return { 'text/event-stream': { schema } };
}

/** `operationId` names the method of generated clients. */
type Operation = RouteConfig & { operationId: string };

function operations(): Operation[] {
  return [...responseOperations(), ...taskOperations(), ...otherOperations()];
}

function responseOperations(): Operation[] {
  const tags = ['Responses'];
  const answer = {
    description: 'The response object, or a stream of its events.',
    content: { 'application/json': { schema: response }, ...streamed(event) },
  };
  return [
    {
      method: 'post',
      path: '/v1/responses',
      operationId: 'createResponse',
      tags,
      summary: 'Submit a response: streamed, waited for, or in the background.',
      request: { ...repeatable, body: jsonBody(createResponse.meta({ id: 'CreateResponse' })) },
      responses: { 200: answer, ...failures },
    },
    {
      method: 'get',
      path: '/v1/responses',
      operationId: 'listResponses',
      tags,
      summary: 'List your responses, newest first.',
      request: { query: listResponsesQuery },
      responses: { 200: jsonAnswer('A page.', listOf(responseListEntry)), ...failures },
    },
    {
      method: 'get',
      path: '/v1/responses/{id}',
      operationId: 'getResponse',
      tags,
      summary: 'Read a response, or resume its stream.',
      request: { ...id, ...resumable, query: getResponseQuery },
      responses: { 200: answer, ...failures },
    },
    {
      method: 'delete',
      path: '/v1/responses/{id}',
      operationId: 'deleteResponse',
      tags,
      summary: 'Remove a response; one in progress is cancelled first.',
      request: id,
      responses: {
        200: jsonAnswer(
          'Removed.',
          z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
        ),
        ...failures,
      },
    },
    {
      method: 'post',
      path: '/v1/responses/{id}/cancel',
      operationId: 'cancelResponse',
      tags,
      summary: 'Cancel a response; an ended one is left as it is.',
      request: id,
      responses: { 200: jsonAnswer('The response.', response), ...failures },
    },
    {
      method: 'get',
      path: '/v1/responses/{id}/input_items',
      operationId: 'listInputItems',
      tags,
      summary: 'List the input of a response, in the order submitted.',
      request: { ...id, query: listInputItemsQuery },
      responses: { 200: jsonAnswer('A page.', listOf(z.looseObject({ id: z.string() }))), ...failures },
    },
    {
      method: 'get',
      path: '/v1/responses/{id}/report',
      operationId: 'getReport',
      tags,
      summary: 'Read the report of a finished response as a document.',
      description: 'Title, text, numbered sources, date and model. An HTML file needs nothing from elsewhere.',
      request: { ...id, query: getReportQuery },
      responses: {
        200: {
          description: 'The document, with a file name in `Content-Disposition`.',
          content: { 'text/markdown': { schema: z.string() }, 'text/html': { schema: z.string() } },
        },
        ...failures,
      },
    },
  ];
}

function taskOperations(): Operation[] {
  const tags = ['Async'];
  const chat = jsonBody(createChatCompletion.meta({ id: 'CreateChatCompletion' }));
  const submitted = taskEntry
    .pick({ id: true, created_at: true, model: true })
    .extend({ status: z.literal('CREATED') });
  return [
    {
      method: 'post',
      path: '/v1/async',
      operationId: 'createTask',
      tags,
      summary: 'Run a chat completion in the background.',
      request: { ...repeatable, body: chat },
      responses: { 201: jsonAnswer('Submitted.', submitted), ...failures },
    },
    {
      method: 'get',
      path: '/v1/async',
      operationId: 'listTasks',
      tags,
      summary: 'List your tasks, newest first.',
      request: { query: listTasksQuery },
      responses: {
        200: jsonAnswer('A page.', z.object({ tasks: z.array(taskEntry), has_more: z.boolean() })),
        ...failures,
      },
    },
    {
      method: 'get',
      path: '/v1/async/{id}',
      operationId: 'getTask',
      tags,
      summary: 'Read a task, with its result once COMPLETED.',
      request: id,
      responses: { 200: jsonAnswer('The task.', taskObject), ...failures },
    },
    {
      method: 'delete',
      path: '/v1/async/{id}',
      operationId: 'deleteTask',
      tags,
      summary: 'Remove a task; one in progress is cancelled first.',
      request: id,
      responses: {
        200: jsonAnswer('Removed.', z.object({ id: z.string(), deleted: z.literal(true) })),
        ...failures,
      },
    },
    {
      method: 'post',
      path: '/v1/async/{id}/cancel',
      operationId: 'cancelTask',
      tags,
      summary: 'Cancel a task; an ended one is left as it is.',
      request: id,
      responses: { 200: jsonAnswer('The task.', taskEntry), ...failures },
    },
  ];
}

function otherOperations(): Operation[] {
  return [
    {
      method: 'post',
      path: '/v1/chat/completions',
      operationId: 'createChatCompletion',
      tags: ['Chat completions'],
      summary: 'Answer a conversation. Leaving the connection cancels it.',
      description: 'Proxy models: the body goes to the provider as it is, and its answer comes back as it is.',
      request: { body: jsonBody(createChatCompletion.meta({ id: 'CreateChatCompletion' })) },
      responses: {
        200: {
          description: 'The completion, or a stream that ends with `data: [DONE]`.',
          content: { 'application/json': { schema: completion }, ...streamed(chunk) },
        },
        ...failures,
      },
    },
    {
      method: 'get',
      path: '/v1/models',
      operationId: 'listModels',
      tags: ['Models'],
      summary: 'List the models that your key may use.',
      responses: { 200: jsonAnswer('All of them.', modelList), ...failures },
    },
    {
      method: 'get',
      path: '/v1/models/{id}',
      operationId: 'getModel',
      tags: ['Models'],
      summary: 'Read one model.',
      request: id,
      responses: { 200: jsonAnswer('The model.', model), ...failures },
    },
    {
      method: 'get',
      path: '/admin/overview',
      operationId: 'getOverview',
      tags: ['Operating'],
      summary: 'See instances, queue, providers, keys and recent failures; for keys with `admin: true`.',
      description: 'Read-only, without secrets. To other keys it is a 404.',
      responses: { 200: jsonAnswer('The overview.', overview.meta({ id: 'Overview' })), ...failures },
    },
  ];
}
