import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { SchemaChecks } from '../../../src/research/answer/schema/schema-checks.ts';
import {
  checkAnswer,
  requireUsableSchema,
  type StructuredFormat,
} from '../../../src/research/answer/schema/structured.ts';
import { turnsDuring } from '../../support/loop-turns.ts';

const formatOf = (schema: JsonObject): StructuredFormat => ({
  type: 'json_schema',
  name: 'harbour',
  schema,
  strict: undefined,
  description: undefined,
});

describe('the check of a structured answer', () => {
  const schemas = new SchemaChecks();
  /** For checks that only their time limit ends. */
  const hasty = new SchemaChecks({ jobMs: 500 });
  after(() => [schemas, hasty].map((each) => each[Symbol.dispose]()));
  const { signal } = new AbortController();
  const check = (schema: JsonObject, answer: unknown, by = schemas) =>
    checkAnswer(JSON.stringify(answer), { format: formatOf(schema), schemas: by, signal });
  const passes = async (schema: JsonObject, answer: unknown) => 'text' in (await check(schema, answer));

  it('knows the drafts of JSON Schema that tools write', async () => {
    for (const $schema of [
      'http://json-schema.org/draft-07/schema#',
      'https://json-schema.org/draft/2020-12/schema',
      'https://json-schema.org/draft/2019-09/schema',
    ]) {
      const schema = {
        $schema,
        type: 'object',
        properties: { a: { $ref: '#/definitions/n' } },
        definitions: { n: { type: 'number' } },
      };
      assert.ok(await passes(schema, { a: 1 }), $schema);
      assert.ok(!(await passes(schema, { a: 'x' })), $schema);
    }
    const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'number' }] };
    assert.ok(!(await passes(tuple, ['x'])));
  });

  it('checks formats, scalars and references', async () => {
    assert.ok(!(await passes({ type: 'string', format: 'date' }, 'soon')));
    assert.ok(await passes({ type: 'string', format: 'date' }, '2031-05-06'));
    assert.ok(await passes({ type: 'integer' }, 42));
    const list = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false } },
      $ref: '#/$defs/node',
    };
    assert.ok(await passes(list, { next: { next: {} } }));
    assert.ok(!(await passes(list, { next: { other: 1 } })));
  });

  it('gives up on an endless pattern without blocking the event loop', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const gaveUp = async () => {
      const checked = await check(schema, { a: `${'a'.repeat(60)}!` }, hasty);
      assert.ok('problem' in checked);
      assert.match(checked.problem, /took too long/);
    };
    // Where the check itself held the event loop, it would turn some three times.
    const turns = await turnsDuring(gaveUp);
    assert.ok(turns > 20, `the event loop turned ${turns} times meanwhile`);
  });

  it('gives up on references that multiply', async () => {
    const $defs: JsonObject = { n30: { type: 'string' } };
    for (let i = 0; i < 30; i++)
      $defs[`n${i}`] = { anyOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] };
    const checked = await check({ $defs, $ref: '#/$defs/n0' }, 1, hasty);
    assert.ok('problem' in checked);
    assert.match(checked.problem, /took too long/);
  });

  it('ends with its run', async () => {
    const schema = { type: 'string', pattern: '^(a+)+$' };
    const ending = new AbortController();
    const format = formatOf(schema);
    const checking = checkAnswer(`"${'a'.repeat(60)}!"`, { format, schemas, signal: ending.signal });
    setTimeout(() => ending.abort(new Error('cancelled')), 20);
    await assert.rejects(checking, /cancelled/);
  });

  it('refuses invalid or unsupported schemas at once, naming the field', async () => {
    const none: JsonObject[] = [
      { type: 'nonsense' },
      { $ref: 'https://elsewhere.example/schema.json' },
      { $async: true, type: 'object' },
      { type: 'string', pattern: '(' },
      { properties: 3 },
      { description: 'x'.repeat(200_000) },
    ];
    for (const schema of none)
      await assert.rejects(
        requireUsableSchema(formatOf(schema), { param: 'text.format.schema', schemas, signal }),
        (error) =>
          error instanceof GatewayError && error.code === 'invalid_parameter' && error.param === 'text.format.schema',
        JSON.stringify(schema).slice(0, 80),
      );
  });
});
