import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { compactedResponseObject, inputTokens } from '../compaction.ts';
import { runEvent } from '../events.ts';
import { modelList, modelObject } from '../models.ts';
import { DOCX_TYPE, reportObject } from '../report.ts';
import {
  getReportQuery,
  getResponseQuery,
  listDeliveriesQuery,
  listInputItemsQuery,
  listResponsesQuery,
  listTasksQuery,
} from '../requests/queries.ts';
import {
  compactBody,
  countBody,
  createChatCompletionBody,
  createResponseBody,
  createTaskBody,
  inputComponents,
} from '../requests/requests.ts';
import { responseListEntry } from '../response.ts';
import { task, taskEntry } from '../tasks.ts';
import { timeline } from '../timeline.ts';
import { webhookDelivery } from '../webhook-delivery.ts';
import { adminOperations } from './admin.ts';
import { conversationOperations } from './conversations.ts';
import { allowNulls, inputJsonSchema } from './describe.ts';
import { fileOperations } from './files.ts';
import { deletedObject, eventStream, jsonResponse, listSchema, tagOperations } from './operations.ts';
import { chunk, completion, postedResponse, response } from './plain-models.ts';
import { vectorStoreOperations } from './vector-stores.ts';

/** `ResponseOutputTextDeltaEvent` for `response.output_text.delta`. */
function eventSchemaName(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}

/** The OpenAPI 3.1 document, generated from the schemas that parse requests and type responses. */
export function openApiDocument() {
  const registry = new OpenAPIRegistry();
  for (const [name, schema] of Object.entries(inputComponents)) {
    registry.registerComponent('schemas', name, inputJsonSchema(schema));
  }
  registry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  const operations = [...responseOperations(), ...conversationOperations(), ...taskOperations(), ...otherOperations()];
  for (const operation of operations) registry.registerPath(operation);
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'research-gateway',
      version: '1',
      description: 'Deep research behind the OpenAI API. Ids are `resp_`, `task_` or `chatcmpl-` and a UUID.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: './' }],
    security: [{ key: [] }],
  });
  for (const name of ['CreateResponse', 'CreateChatCompletion', 'CreateTask']) {
    allowNulls(document.components?.schemas?.[name]);
  }
  return document;
}

const event = z
  .union(runEvent.options.map((option) => option.meta({ id: eventSchemaName(option.shape.type.value) })))
  .meta({ id: 'Event', description: 'The `data:` of a frame; `event:` repeats its type.' });
const taskObject = task.extend({ result: completion.optional() }).meta({ id: 'Task' });
const delivery = webhookDelivery.meta({ id: 'WebhookDelivery' });
const repeatable = z.object({
  'Idempotency-Key': z
    .string()
    .max(255)
    .optional()
    .meta({ description: 'For 24 hours, the same key, user and body return the same run.' }),
});
const resumable = z.object({
  'Last-Event-ID': z.string().optional().meta({ description: 'The same as `after`, which takes precedence.' }),
});

function responseOperations(): RouteConfig[] {
  const answer = (schema: z.ZodType) => ({
    description: 'The response object, or a stream of its events.',
    content: { 'application/json': { schema }, ...eventStream(event) },
  });
  return tagOperations('Responses', {
    'post /v1/responses createResponse': {
      summary: 'Create a response: streamed, in one answer, or in the background.',
      headers: repeatable,
      description: 'A model with `responses: native` passes body, answer and events through unchanged.',
      body: createResponseBody.meta({ id: 'CreateResponse' }),
      answer: answer(postedResponse),
      passesErrors: true,
    },
    'get /v1/responses listResponses': {
      summary: 'List your responses, newest first.',
      query: listResponsesQuery,
      answer: jsonResponse('A page.', listSchema(responseListEntry)),
    },
    'post /v1/responses/compact compactResponse': {
      summary: 'Summarise a thread in one item that later inputs accept.',
      body: compactBody,
      answer: jsonResponse("The user's messages and the item.", compactedResponseObject),
    },
    'post /v1/responses/input_tokens countInputTokens': {
      summary: 'Estimate the input tokens of a request.',
      body: countBody,
      answer: jsonResponse('The estimate.', inputTokens),
    },
    'get /v1/responses/{id} getResponse': {
      summary: 'Get a response, or resume its stream.',
      headers: resumable,
      query: getResponseQuery,
      answer: answer(response),
    },
    'delete /v1/responses/{id} deleteResponse': {
      summary: 'Delete a response; one in progress is cancelled first.',
      answer: jsonResponse('Removed.', deletedObject('response')),
    },
    'post /v1/responses/{id}/cancel cancelResponse': {
      summary: 'Cancel a response; one that has ended does not change.',
      answer: jsonResponse('The response.', response),
    },
    'get /v1/responses/{id}/input_items listInputItems': {
      summary: 'List the input items of a response, in the order submitted.',
      query: listInputItemsQuery,
      answer: jsonResponse('A page.', listSchema(z.looseObject({ id: z.string() }))),
    },
    'get /v1/responses/{id}/report getReport': {
      summary: 'Get the report of a finished response as a document.',
      description:
        'Title, text, numbered sources, date and model. The HTML file is self-contained; in a Word document citations are footnotes.',
      query: getReportQuery,
      answer: {
        description: 'The document, with a file name in `Content-Disposition`.',
        content: {
          'text/markdown': { schema: z.string() },
          'text/html': { schema: z.string() },
          [DOCX_TYPE]: { schema: z.unknown().meta({ type: 'string', format: 'binary' }) },
          'application/json': { schema: reportObject.meta({ id: 'Report' }) },
        },
      },
    },
    'get /v1/responses/{id}/timeline getTimeline': {
      summary: 'Get the times of the events of a response, and the duration and cost of its model turns.',
      answer: jsonResponse('The timeline.', timeline.meta({ id: 'Timeline' })),
    },
  });
}

function taskOperations(): RouteConfig[] {
  const submitted = taskEntry
    .pick({ id: true, created_at: true, model: true })
    .extend({ status: z.literal('CREATED') });
  return tagOperations('Async', {
    'post /v1/async createTask': {
      summary: 'Run a chat completion in the background.',
      headers: repeatable,
      body: createTaskBody.meta({ id: 'CreateTask' }),
      answer: jsonResponse('Submitted.', submitted),
      status: 201,
    },
    'get /v1/async listTasks': {
      summary: 'List your tasks, newest first.',
      query: listTasksQuery,
      answer: jsonResponse('A page.', z.object({ tasks: z.array(taskEntry), has_more: z.boolean() })),
    },
    'get /v1/async/{id} getTask': {
      summary: 'Get a task, with its result once COMPLETED.',
      answer: jsonResponse('The task.', taskObject),
    },
    'delete /v1/async/{id} deleteTask': {
      summary: 'Delete a task; one in progress is cancelled first.',
      answer: jsonResponse('Removed.', z.object({ id: z.string(), deleted: z.literal(true) })),
    },
    'post /v1/async/{id}/cancel cancelTask': {
      summary: 'Cancel a task; one that has ended does not change.',
      answer: jsonResponse('The task.', taskEntry),
    },
  });
}

function otherOperations(): RouteConfig[] {
  return [
    ...tagOperations('Chat completions', {
      'post /v1/chat/completions createChatCompletion': {
        summary: 'Create a chat completion. Closing the connection cancels it.',
        description: 'On proxy models the body and the answer pass through unchanged.',
        body: createChatCompletionBody.meta({ id: 'CreateChatCompletion' }),
        answer: {
          description: 'The completion, or a stream that ends with `data: [DONE]`.',
          content: { 'application/json': { schema: completion }, ...eventStream(chunk) },
        },
        passesErrors: true,
      },
    }),
    ...tagOperations('Models', {
      'get /v1/models listModels': {
        summary: 'List the models that your key may use.',
        answer: jsonResponse('All of them.', modelList),
      },
      'get /v1/models/{id} getModel': {
        summary: 'Get one model.',
        answer: jsonResponse('The model.', modelObject.meta({ id: 'Model' })),
      },
    }),
    ...fileOperations(),
    ...vectorStoreOperations(),
    ...tagOperations('Webhooks', {
      'get /v1/webhook_deliveries listWebhookDeliveries': {
        summary: 'List the deliveries of the end of a response or task.',
        query: listDeliveriesQuery,
        answer: jsonResponse('All of them.', listSchema(delivery)),
      },
      'post /v1/webhook_deliveries/{id}/redeliver redeliverWebhook': {
        summary: 'Deliver a webhook again.',
        answer: jsonResponse('The delivery.', delivery),
      },
    }),
    ...adminOperations(),
  ];
}
