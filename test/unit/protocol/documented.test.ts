import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { runEvent } from '../../../src/protocol/events.ts';
import { openAiEvents } from '../../../src/protocol/openai/items.ts';
import { newResponse, responseObject } from '../../../src/protocol/response.ts';
import { warningCode } from '../../../src/protocol/warnings.ts';

const API = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');

/** The names that a section of the page has in backticks. */
function namesIn(heading: string): Set<string> {
  const level = heading.split(' ')[0] ?? '';
  const start = API.indexOf(`\n${heading}\n`);
  assert.notEqual(start, -1, `docs/api.md has the section "${heading}"`);
  const section = API.slice(start + heading.length + 1);
  const end = section.search(new RegExp(`\\n#{2,${level.length}} `));
  return new Set([...section.slice(0, end).matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** Fields that a response has only if the request asks for them. */
const OPTIONAL: readonly string[] = ['conversation', 'charts'];

const typeOf = (event: (typeof runEvent.options)[number]) => event.shape.type.value;

describe('docs/api.md', () => {
  it('names every field of a response; a new response has all but the optional ones', () => {
    const fields = Object.keys(responseObject.shape);
    const documented = namesIn('### The response object');
    assert.deepEqual(
      fields.filter((field) => !documented.has(field)),
      [],
      'fields that the page does not name',
    );
    const fresh = newResponse({ id: 'resp_a', created_at: 1, model: 'm' });
    const always = fields.filter((field) => !OPTIONAL.includes(field));
    assert.deepEqual(Object.keys(responseObject.strict().parse(fresh)).sort(), always.sort());
  });

  it("names every event that is not OpenAI's, and every warning code", () => {
    const ofOpenAi = new Set<string>(openAiEvents.map(({ shape }) => shape.type.value));
    const documented = namesIn('## Events');
    const own = runEvent.options.map(typeOf).filter((type) => !ofOpenAi.has(type));
    assert.ok(own.length > 10);
    assert.deepEqual(
      own.filter((type) => !documented.has(type)),
      [],
      'events that the page does not name',
    );
    const warnings = namesIn('### The response object');
    assert.deepEqual(
      warningCode.options.filter((code) => !warnings.has(code)),
      [],
    );
  });
});
