import assert from 'node:assert/strict';
import { z } from 'zod';
import { GatewayError } from '../../../src/base/errors.ts';
import { boundedList, mapOf, parseValue } from '../../../src/protocol/requests/parse.ts';
import { plainChatBody } from '../../../src/protocol/requests/plain-chat.ts';
import { plainResponseBody } from '../../../src/protocol/requests/plain-response.ts';
import { mcpServers } from '../../../src/protocol/requests/request-tools.ts';
import {
  compactBody,
  countBody,
  createChatCompletionBody,
  createResponseBody,
} from '../../../src/protocol/requests/requests.ts';

function problems(schema: z.ZodType, value: unknown): number {
  const result = schema.safeParse(value);
  return result.success ? 0 : result.error.issues.length;
}

describe('body schemas', () => {
  it('say what they expect of a field with the wrong type, never just that it is invalid', () => {
    const bodies = {
      createResponseBody,
      plainResponseBody,
      createChatCompletionBody,
      plainChatBody,
      compactBody,
      countBody,
    };
    const wrong = [{}, { a: 1 }, 7, [7], [{}], [[]], true, '', 'x'];
    for (const [name, schema] of Object.entries(bodies)) {
      for (const field of Object.keys(schema.shape)) {
        for (const value of wrong) {
          const body = { model: 'm', input: 'x', messages: [{ role: 'user', content: 'x' }], [field]: value };
          const issues = schema.safeParse(body).error?.issues ?? [];
          const vague = issues.filter(({ message }) => message === 'Invalid input');
          assert.deepEqual(vague, [], `${name}, ${field}: ${JSON.stringify(value)}`);
        }
      }
    }
  });

  it('say of an address that is too long that it is', () => {
    const url = `https://mcp.example/?key=${'x'.repeat(8192)}`;
    const issues = mcpServers.safeParse([{ name: 'm', url }]).error?.issues ?? [];
    assert.deepEqual(
      issues.map(({ message }) => message),
      ['expected at most 8192 characters.'],
    );
  });
});

describe('boundedList', () => {
  it('stops checking after 20 problems', () => {
    let looked = 0;
    const item = z.unknown().superRefine((_, context) => {
      looked++;
      context.addIssue({ code: 'custom', message: 'no' });
    });
    assert.equal(problems(boundedList(item, { max: 1000 }), Array.from({ length: 1000 })), 20);
    assert.equal(looked, 20);
  });

  it('does not check the items of a list that is too long, nor does mapOf with too many names', () => {
    const item = z.unknown().superRefine(() => assert.fail('it was looked at'));
    assert.equal(problems(boundedList(item, { max: 3 }), [1, 2, 3, 4]), 1);
    assert.equal(problems(mapOf(item, { max: 1 }), { a: 1, b: 2 }), 1);
  });

  it('names the entry and the field at fault', () => {
    const schema = boundedList(z.object({ a: z.string() }), { max: 3 });
    assert.deepEqual(parseValue(schema, [{ a: 'x' }]), [{ a: 'x' }]);
    assert.throws(
      () => parseValue(schema, [{ a: 'x' }, {}]),
      (error) => error instanceof GatewayError && error.param === '[1].a' && error.code === 'missing_parameter',
    );
  });

  it('reports at most 20 problems for nested lists of a request too', () => {
    const part = { type: 'nonsense' };
    const item = { role: 'user', content: Array.from({ length: 1000 }, () => part) };
    const body = { model: 'a', input: Array.from({ length: 10 }, () => item) };
    assert.equal(problems(createResponseBody, body), 20);
  });
});
