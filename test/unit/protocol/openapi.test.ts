import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { runEvent } from '../../../src/protocol/events.ts';
import { openApiDocument } from '../../../src/protocol/openapi/openapi.ts';
import { newResponse } from '../../../src/protocol/response.ts';
import { toPlainCompletion } from '../../../src/runs/projections/plain-chat.ts';

describe('openApiDocument', () => {
  let text: string;
  before(() => {
    text = JSON.stringify(openApiDocument());
  });

  it('is the same each time, and all its references resolve', () => {
    assert.equal(JSON.stringify(openApiDocument()), text);
    const { components } = JSON.parse(text);
    const references = new Set(
      [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
    );
    assert.ok(references.size > 10);
    for (const name of references) assert.ok(components.schemas[String(name)], `${name} is described`);
  });

  it('describes fields whose schema depends on the value', () => {
    const { components } = JSON.parse(text);
    const { properties, required } = components.schemas.CreateResponse;
    assert.deepEqual(properties.input, { $ref: '#/components/schemas/Input' });
    const [tools, absent] = properties.tools.anyOf;
    assert.deepEqual(tools.items, { $ref: '#/components/schemas/Tool' });
    assert.deepEqual(absent, { type: 'null' }, 'null stands for an absent field');
    assert.ok(required.includes('model'));
    assert.deepEqual(components.schemas.CreateChatCompletion.properties.messages.items, {
      $ref: '#/components/schemas/ChatMessage',
    });
  });

  it('has unique operation ids, every event, and the headers for idempotency and resumption', () => {
    const { paths, components } = JSON.parse(text);
    const operations = Object.values<Record<string, { operationId?: string; parameters?: { name: string }[] }>>(paths);
    const ids = operations.flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    assert.ok(ids.every((id) => typeof id === 'string'));
    assert.equal(new Set(ids).size, ids.length);
    const headers = (path: string, method: string) =>
      paths[path][method].parameters?.map(({ name }: { name: string }) => name) ?? [];
    assert.ok(headers('/v1/responses', 'post').includes('Idempotency-Key'));
    assert.ok(headers('/v1/async', 'post').includes('Idempotency-Key'));
    assert.ok(headers('/v1/responses/{id}', 'get').includes('Last-Event-ID'));
    const events: { $ref: string }[] = components.schemas.Event.anyOf;
    assert.equal(events.length, runEvent.options.length);
    assert.ok(events.some(({ $ref }) => $ref.endsWith('/ResponseOutputTextAnnotationAddedEvent')));
    assert.deepEqual(components.schemas.Task.properties.result, { $ref: '#/components/schemas/ChatCompletion' });
  });

  it('describes chat completions of plain models: those that providers send and those that the gateway makes', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(JSON.parse(text), 'api');
    const check = (name: string, value: unknown) => {
      const isValid = ajv.getSchema(`api#/components/schemas/${name}`);
      assert.ok(isValid?.(value), `${JSON.stringify(value)}: ${ajv.errorsText(isValid?.errors)}`);
    };
    const head = { id: 'gen-1', created: 1, model: 'm' };
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    for (const message of [
      { role: 'assistant', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [call], refusal: null, reasoning_content: null },
    ]) {
      const choices = [{ index: 1, message, finish_reason: 'eos' }];
      const object = 'chat.completion';
      check('ChatCompletion', {
        ...head,
        object,
        choices,
        usage: { ...usage, cost: 0.1, prompt_tokens_details: null },
      });
    }
    const object = 'chat.completion.chunk';
    for (const delta of [{}, { role: 'assistant', content: '' }, { tool_calls: [{ index: 0, ...call }] }])
      check('ChatCompletionChunk', { ...head, object, choices: [{ index: 0, delta, finish_reason: null }] });
    check('ChatCompletionChunk', { ...head, object, choices: [], usage });
    check('ChatCompletionChunk', { error: { message: 'No.', type: 'api_error', param: null, code: 'upstream_error' } });
    const made = newResponse({ id: 'resp_00000000-0000-4000-8000-000000000000', created_at: 1, model: 'm' });
    check('ChatCompletion', toPlainCompletion({ ...made, status: 'completed' }));
    check('PassedError', { error: { message: 'No.', type: 'invalid_request_error', code: 400 } });
  });
});
