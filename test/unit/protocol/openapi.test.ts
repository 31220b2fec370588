import assert from 'node:assert/strict';
import { openApiDocument } from '../../../src/protocol/openapi.ts';

describe('openApiDocument', () => {
  it('can be made again, and every reference in it leads somewhere', () => {
    const text = JSON.stringify(openApiDocument());
    assert.equal(JSON.stringify(openApiDocument()), text);
    const { components } = JSON.parse(text);
    const references = new Set(
      [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
    );
    assert.ok(references.size > 10);
    for (const name of references) assert.ok(components.schemas[String(name)], `${name} is described`);
  });

  it('describes what is chosen by looking at the value', () => {
    const { components } = JSON.parse(JSON.stringify(openApiDocument()));
    const { properties, required } = components.schemas.CreateResponse;
    assert.deepEqual(properties.input, { $ref: '#/components/schemas/Input' });
    assert.deepEqual(properties.tools.items, { $ref: '#/components/schemas/Tool' });
    assert.ok(required.includes('model'));
    assert.deepEqual(components.schemas.CreateChatCompletion.properties.messages.items, {
      $ref: '#/components/schemas/ChatMessage',
    });
  });
});
