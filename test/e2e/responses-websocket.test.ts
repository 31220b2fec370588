import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';

type Event = OpenAI.Responses.ResponsesServerEvent;
type Create = OpenAI.Responses.ResponsesClientEvent.ResponseCreate;

const LOOK_UP = { type: 'function' as const, name: 'look_up', parameters: { type: 'object' }, strict: false };

/** Calls the function, and answers once it has its output. */
function caller({ body }: ProviderRequest): Script {
  const last = body.messages?.at(-1);
  if (last?.role === 'tool') return turn({ text: `It says: ${last.content}` });
  return turn({ reasoning: 'I look.', toolCalls: [{ id: 'call_1', name: 'look_up', arguments: '{}' }] });
}

async function openPlain(respond: (request: ProviderRequest) => Script = caller) {
  await using opening = new AsyncDisposableStack();
  const gateway = opening.use(
    await startSdkGateway({ respond, models: { plain: PLAIN, native: { ...PLAIN, responses: 'native' } } }),
  );
  const { provider, ann: client } = gateway;
  const socket = new ResponsesWS(client, { perMessageDeflate: true });
  opening.defer(() => socket.close({ code: 1000, reason: 'done' }));
  const events = socket.stream();
  /** The response that a create ends with, and the types of its events. */
  const respondTo = async (
    fields: Omit<Create, 'type'>,
  ): Promise<{ response: OpenAI.Responses.Response; types: string[] }> => {
    socket.send({ type: 'response.create', ...fields });
    const types: string[] = [];
    for (;;) {
      const next = await events.next();
      assert.ok(!next.done, 'the socket closed');
      assert.notEqual(next.value.type, 'error', JSON.stringify(next.value));
      if (next.value.type !== 'message') continue;
      const event: Event = next.value.message;
      types.push(event.type);
      if (event.type === 'response.completed') return { response: event.response, types };
    }
  };
  const stack = opening.move();
  return { provider, client, socket, respondTo, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('openai-node over the WebSocket of /v1/responses', () => {
  it('preloads input, calls a function and continues with new items only, all with store: false', async () => {
    await using plain = await openPlain();
    const common = {
      model: 'plain',
      store: false,
      tools: [LOOK_UP],
      include: ['reasoning.encrypted_content' as const],
    };
    const input = [{ role: 'user' as const, content: 'Look it up.' }];
    const preloaded = await plain.respondTo({ ...common, input, generate: false });
    assert.deepEqual([preloaded.response.output, plain.provider.requests.length], [[], 0]);
    const called = await plain.respondTo({ ...common, input: [], previous_response_id: preloaded.response.id });
    assert.deepEqual(
      called.response.output.map(({ type }) => type),
      ['reasoning', 'function_call'],
    );
    assert.deepEqual(called.types.slice(0, 2), ['response.created', 'response.in_progress']);
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: '42' };
    const last = await plain.respondTo({ ...common, input: [output], previous_response_id: called.response.id });
    assert.equal(last.response.output_text, 'It says: 42');
    // The provider gets its thought back.
    assert.deepEqual(plain.provider.requests[1]?.body.messages, [
      input[0],
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'I look.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '42' },
    ]);
    for (const { response } of [preloaded, called, last]) {
      await assert.rejects(plain.client.responses.retrieve(response.id), { status: 404 });
    }
  });

  it('can retrieve its stored responses over HTTP, for native models too', async () => {
    await using plain = await openPlain(() => turn({ text: 'Hello.' }));
    for (const model of ['plain', 'native']) {
      const { response } = await plain.respondTo({ model, input: 'Hi' });
      assert.equal((await plain.client.responses.retrieve(response.id)).output_text, 'Hello.');
    }
  });

  it('gets an error event for an unknown previous_response_id', async () => {
    await using plain = await openPlain(() => turn({ text: 'Hello.' }));
    const failed = Promise.withResolvers<{ message: string }>();
    plain.socket.on('error', (error) => failed.resolve(error));
    plain.socket.send({ type: 'response.create', model: 'plain', input: 'Hi', previous_response_id: 'resp_none' });
    assert.match((await failed.promise).message, /resp_none/);
  });
});
