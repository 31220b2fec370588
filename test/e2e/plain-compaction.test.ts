import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { APIError } from 'openai';
import { cutAfter, type ProviderRequest, type Script, status, turn } from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';

type Input = OpenAI.Responses.ResponseInputItem[];

const isCompacting = ({ body }: ProviderRequest) =>
  /^You compact a conversation/.test(String(body.messages?.[0]?.content));

/** Writes summaries, and otherwise answers with the number of messages it was sent. */
function model(request: ProviderRequest): Script {
  if (isCompacting(request)) return turn({ text: 'The lighthouse runs on tides.' });
  return turn({ text: `Read ${request.body.messages?.length}.` });
}

function openPlain(respond: (request: ProviderRequest) => Script = model, retries = 0) {
  return startSdkGateway({ respond, provider: { max_retries: retries }, models: { plain: PLAIN } });
}

const LONG: Input = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'The old question.' },
  ...Array.from(
    { length: 6 },
    (_, n): Input => [
      { type: 'function_call', call_id: `call_${n}`, name: 'look_up', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${n}`, output: `It says ${n}. `.repeat(150) },
    ],
  ).flat(),
  { role: 'user', content: 'The new question.' },
];
const asks = { model: 'plain', context_management: [{ type: 'compaction' as const, compact_threshold: 1000 }] };

describe('context_management of a plain model', () => {
  it('summarises a long conversation before answering, and puts a compaction item into the output', async () => {
    await using plain = await openPlain();
    const response = await plain.ann.responses.create({ ...asks, input: LONG });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['compaction', 'message'],
    );
    assert.equal(response.output_text, 'Read 3.');
    const [summing, asked] = plain.provider.requests;
    assert.ok(summing && isCompacting(summing) && JSON.stringify(summing.body).includes('It says 5.'));
    const summary = '(What was said before, compacted) The lighthouse runs on tides.';
    assert.deepEqual(asked?.body.messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: summary },
      { role: 'user', content: 'The new question.' },
    ]);
    // Both turns are paid for.
    assert.ok((response.usage?.input_tokens ?? 0) > 20);
    const next = await plain.ann.responses.create({ ...asks, previous_response_id: response.id, input: 'So?' });
    assert.equal(next.output_text, 'Read 5.');
    const [item] = response.output;
    assert.ok(item?.type === 'compaction');
    // A client that sends everything again is not summed up again.
    const whole: Input = [...LONG, ...(response.output as Input), { role: 'user', content: 'So?' }];
    const again = await plain.ann.responses.create({ ...asks, input: whole });
    assert.deepEqual(
      again.output.map(({ type }) => type),
      ['message'],
    );
    assert.deepEqual(plain.provider.requests.at(-1)?.body.messages?.slice(-3), [
      { role: 'assistant', content: summary },
      { role: 'assistant', content: 'Read 3.' },
      { role: 'user', content: 'So?' },
    ]);
    const stolen = plain.bob.responses.create({ model: 'plain', input: [item, { role: 'user', content: 'So?' }] });
    await assert.rejects(stolen, (error) => error instanceof APIError && error.status === 400);
  });

  it('is not repeated by the messages of the user that it stands for, sent again or in a conversation', async () => {
    await using plain = await openPlain();
    const { ann, provider } = plain;
    const said = ['First', 'Second', 'Third'].flatMap(
      (nth): Input => [
        { role: 'user', content: `${nth} question. ${'A page of the log. '.repeat(120)}` },
        { role: 'assistant', content: `${nth} answer.` },
      ],
    );
    const { id: conversation } = await ann.conversations.create({ items: said });
    const inConversation = await ann.responses.create({ ...asks, conversation, input: 'Fourth question.' });
    const sentAgain = await ann.responses.create({ ...asks, input: [...said, { role: 'user', content: 'So?' }] });
    const { length } = provider.requests;
    const whole: Input = [...said, { role: 'user', content: 'So?' }, ...(sentAgain.output as Input)];
    for (const next of [
      await ann.responses.create({ ...asks, conversation, input: 'Fifth question.' }),
      await ann.responses.create({ ...asks, input: [...whole, { role: 'user', content: 'And?' }] }),
    ]) {
      assert.deepEqual([next.output.map(({ type }) => type), next.output_text], [['message'], 'Read 4.']);
    }
    assert.equal(provider.requests.length, length + 2);
    assert.deepEqual(
      [inConversation, sentAgain].map(({ output }) => output[0]?.type),
      ['compaction', 'compaction'],
    );
    // What `compact` returns stays as it is.
    const { output } = await ann.responses.compact({ model: 'plain', input: said });
    await ann.responses.create({ model: 'plain', input: [...(output as Input), { role: 'user', content: 'And?' }] });
    assert.equal(provider.requests.at(-1)?.body.messages?.length, 5);
  });

  it('charges the summary once, and not to max_output_tokens, even if it fails', async () => {
    const counted = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });
    const unknown = { name: 'look_down', arguments: {} };
    for (const finish of ['stop', 'content_filter']) {
      await using plain = await openPlain((request) => {
        if (isCompacting(request)) return turn({ text: 'The lighthouse.', finish, usage: counted(1000, 100) });
        const isRefused = request.body.messages?.at(-1)?.role === 'tool';
        return turn({ ...(isRefused ? { text: 'Yes.' } : { toolCalls: [unknown] }), usage: counted(20, 2) });
      });
      const tools = [{ type: 'function' as const, name: 'look_up', parameters: { type: 'object' }, strict: null }];
      const response = await plain.ann.responses.create({ ...asks, input: LONG, tools, max_output_tokens: 60 });
      const { usage, output_text, output } = response;
      assert.deepEqual([usage?.input_tokens, usage?.output_tokens, output_text], [1040, 104, 'Yes.'], finish);
      assert.equal(output[0]?.type === 'compaction', finish === 'stop');
    }
  });

  it('leaves a short conversation alone, and sends it whole if the summary fails', async () => {
    const failing = (request: ProviderRequest) => (isCompacting(request) ? status(400) : model(request));
    await using plain = await openPlain(failing);
    const short = await plain.ann.responses.create({ ...asks, input: 'Hi' });
    assert.equal(plain.provider.requests.length, 1);
    assert.equal(short.output_text, 'Read 1.');
    const response = await plain.ann.responses.create({ ...asks, input: LONG });
    assert.equal(response.output_text, 'Read 15.');
    assert.equal(plain.provider.requests.length, 3);
  });

  it('rejects unknown types and thresholds that are too low', async () => {
    await using plain = await openPlain();
    for (const [context_management, param] of [
      [[{ type: 'other' }], 'context_management[0].type'],
      [[{ type: 'compaction', compact_threshold: 10 }], 'context_management[0].compact_threshold'],
    ] as const) {
      const create = plain.ann.responses.create({
        model: 'plain',
        input: 'Hi',
        context_management: [...context_management],
      });
      await assert.rejects(
        create,
        (error) => error instanceof APIError && error.status === 400 && error.param === param,
      );
    }
  });
});

describe('compaction_trigger of a plain model', () => {
  const trigger = { type: 'compaction_trigger' as const };
  const input: Input = [...LONG, trigger];

  it('returns the compaction item and nothing else, even with tool_choice: required', async () => {
    await using plain = await openPlain();
    const { ann, provider } = plain;
    const tools = [{ type: 'web_search' as const }];
    const body = { model: 'plain', input, tools, tool_choice: 'required' as const, store: false };
    const { output, usage, status: ended } = await ann.responses.stream(body).finalResponse();
    assert.deepEqual([ended, output.map(({ type }) => type)], ['completed', ['compaction']]);
    assert.ok((usage?.input_tokens ?? 0) > 0);
    assert.equal(provider.requests.length, 1);
    const [item] = output as Input;
    assert.ok(item);
    const next = await ann.responses.create({ model: 'plain', input: [item, { role: 'user', content: 'So?' }] });
    assert.equal(next.output_text, 'Read 2.');
  });

  it('is not listed as an input item, and its output is continued by id and in a conversation', async () => {
    await using plain = await openPlain();
    const { ann, provider } = plain;
    const first = await ann.responses.create({ model: 'plain', input: LONG });
    const compacted = await ann.responses.create({ model: 'plain', previous_response_id: first.id, input: [trigger] });
    assert.deepEqual((await ann.responses.inputItems.list(compacted.id)).data, []);
    await ann.responses.create({ model: 'plain', previous_response_id: compacted.id, input: 'So?' });
    const messages = provider.requests.at(-1)?.body.messages ?? [];
    assert.ok(messages.length < 7 && messages.every(({ content }) => content !== ''), JSON.stringify(messages));
    const { id: conversation } = await ann.conversations.create({ items: LONG });
    await ann.responses.create({ model: 'plain', conversation, input: [trigger] });
    const last = await ann.conversations.items.list(conversation, { limit: 2, order: 'desc' });
    assert.deepEqual(
      last.data.map(({ type }) => type),
      ['compaction', 'message'],
    );
  });

  it('asks again for a summary that the provider cut off', async () => {
    let cuts = 1;
    await using plain = await openPlain((request) => (cuts-- > 0 ? cutAfter(4) : model(request)), 1);
    const { status: ended, output } = await plain.ann.responses.create({ model: 'plain', input });
    assert.deepEqual([ended, output.map(({ type }) => type)], ['completed', ['compaction']]);
    assert.equal(plain.provider.requests.length, 2);
  });

  it('is rejected unless it is last and follows other input, and fails if the summary does', async () => {
    await using plain = await openPlain((request) => (isCompacting(request) ? status(400) : model(request)));
    for (const [wrong, param] of [
      [[trigger, ...LONG], 'input[0]'],
      [[...LONG, trigger, trigger], `input[${LONG.length}]`],
      [[trigger], 'input'],
    ] as const) {
      const pending = plain.ann.responses.create({ model: 'plain', input: [...wrong] });
      await assert.rejects(
        pending,
        (error) => error instanceof APIError && error.status === 400 && error.param === param,
      );
    }
    const failed = await plain.ann.responses.create({ model: 'plain', input });
    assert.deepEqual([failed.status, failed.error?.code, failed.output], ['failed', 'upstream_error', []]);
  });
});
