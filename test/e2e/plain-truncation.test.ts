import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { APIError } from 'openai';
import { type ProviderRequest, type Script, status, turn } from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';

type Input = OpenAI.Responses.ResponseInputItem[];

/** The longest conversation that the provider accepts, in characters. */
const MAX_LENGTH = 9000;

/** Refuses a conversation that is too long, as OpenAI does. */
function narrow({ body }: ProviderRequest): Script {
  const length = JSON.stringify(body.messages).length;
  if (length <= MAX_LENGTH) return turn({ text: 'Read.' });
  const message = `This model's maximum context length is ${MAX_LENGTH} tokens. Your messages have ${length}.`;
  return status(400, { body: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } } });
}

function openPlain() {
  const small = { ...PLAIN, context_length: 1000, max_completion_tokens: 100 };
  return startSdkGateway({ respond: narrow, models: { plain: PLAIN, small } });
}

/** Instructions, an old question, rounds of calls with long results, and a new question behind them. */
const LONG: Input = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'The old question.' },
  ...Array.from(
    { length: 20 },
    (_, n): Input => [
      { type: 'function_call', call_id: `call_${n}`, name: 'look_up', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${n}`, output: `${n} `.repeat(400) },
    ],
  ).flat(),
  { role: 'user', content: 'The new question.' },
];

describe('truncation of a plain model', () => {
  it('auto drops the oldest items until it fits, keeping instructions, the last question and call pairs', async () => {
    await using plain = await openPlain();
    const response = await plain.ann.responses.create({ model: 'plain', input: LONG, truncation: 'auto' });
    assert.deepEqual([response.output_text, response.truncation], ['Read.', 'auto']);
    const { messages = [] } = plain.provider.requests.at(-1)?.body ?? {};
    assert.deepEqual(messages[0]?.content, 'Be brief.');
    assert.equal(messages.at(-1)?.content, 'The new question.');
    assert.doesNotMatch(JSON.stringify(messages), /The old question/);
    const called = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }: { id: string }) => id));
    assert.deepEqual(
      called,
      messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id])),
    );
    assert.ok(called.length > 0 && called.at(-1) === 'call_19', `${called}`);
    // A later request continues from the whole conversation.
    const next = await plain.ann.responses.create({
      model: 'plain',
      previous_response_id: response.id,
      input: 'So?',
      truncation: 'auto',
    });
    assert.equal(next.output_text, 'Read.');
  });

  it('auto fails if what has to stay is too long', async () => {
    await using plain = await openPlain();
    const input = [...LONG, { role: 'user' as const, content: 'x'.repeat(MAX_LENGTH) }];
    const response = await plain.ann.responses.create({ model: 'plain', input, truncation: 'auto' });
    assert.deepEqual([response.status, response.error?.code], ['failed', 'context_length_exceeded']);
  });

  it('disabled, the default, drops nothing', async () => {
    await using plain = await openPlain();
    const response = await plain.ann.responses.create({ model: 'plain', input: LONG });
    assert.deepEqual([response.status, response.truncation], ['failed', 'disabled']);
    assert.equal(response.error?.code, 'context_length_exceeded');
    assert.equal(plain.provider.requests.length, 1);
    const refused = (code: string, param: string) => (error: unknown) =>
      error instanceof APIError && error.status === 400 && error.code === code && error.param === param;
    await assert.rejects(
      plain.ann.responses.create({ model: 'small', input: 'x '.repeat(5000) }),
      refused('context_length_exceeded', 'input'),
    );
    const truncation = 'some' as 'auto';
    await assert.rejects(
      plain.ann.responses.create({ model: 'plain', input: 'Hi', truncation }),
      refused('invalid_parameter', 'truncation'),
    );
  });
});
