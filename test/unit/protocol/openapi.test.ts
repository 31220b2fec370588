import assert from 'node:assert/strict';
import { runEvent } from '../../../src/protocol/events.ts';
import { openApiDocument } from '../../../src/protocol/openapi/openapi.ts';

describe('openApiDocument', () => {
  it('is the same each time, and all its references resolve', () => {
    const text = JSON.stringify(openApiDocument());
    assert.equal(JSON.stringify(openApiDocument()), text);
    const { components } = JSON.parse(text);
    const references = new Set(
      [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
    );
    assert.ok(references.size > 10);
    for (const name of references) assert.ok(components.schemas[String(name)], `${name} is described`);
  });

  it('describes fields whose schema depends on the value', () => {
    const { components } = JSON.parse(JSON.stringify(openApiDocument()));
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
    const { paths, components } = JSON.parse(JSON.stringify(openApiDocument()));
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
});
