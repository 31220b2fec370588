import assert from 'node:assert/strict';
import { type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { type ScriptedProvider, type Step, startScriptedProvider } from '../support/scripted-provider.ts';

const event = (payload: object) => `data: ${JSON.stringify(payload)}\n\n`;
const response = (fields: object) => ({ id: 'r', object: 'response', model: 'm', ...fields });
const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One.' }] };

interface Wire {
  path: string;
  model: string;
  body: object;
  begin: string;
  end: string;
  /** Text that belongs to the answer no more. */
  more: string;
}

const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const CHAT = {
  body: { messages: [{ role: 'user', content: 'Go.' }] },
  begin: event(choice({ content: 'One.' })) + event(choice({}, 'stop')),
  end: 'data: [DONE]\n\n',
  more: event(choice({ content: 'MORE' })),
};
const RESPONSES = {
  body: { input: 'Go.' },
  begin:
    event({ type: 'response.created', response: response({ status: 'in_progress', output: [] }) }) +
    event({ type: 'response.output_text.delta', output_index: 0, delta: 'One.' }),
  end: event({ type: 'response.completed', response: response({ status: 'completed', output: [message] }) }),
  more: event({ type: 'response.output_text.delta', output_index: 1, delta: 'MORE' }),
};
const MESSAGES = {
  body: { max_tokens: 9, messages: [{ role: 'user', content: 'Go.' }] },
  begin:
    event({ type: 'message_start', message: { id: 'm', role: 'assistant', content: [], model: 'm' } }) +
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'One.' } }) +
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
  end: `event: message_stop\n${event({ type: 'message_stop' })}`,
  more: event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'MORE' } }),
};
const SOUND = {
  body: { input: 'Go.', voice: 'v', stream_format: 'sse' },
  begin: event({ type: 'speech.audio.delta', audio: 'AAAA' }),
  end: event({ type: 'speech.audio.done', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }),
  more: event({ type: 'speech.audio.delta', audio: 'MORE' }),
};

const WIRES: Readonly<Record<string, Wire>> = {
  chat: { path: '/chat/completions', model: 'any', ...CHAT },
  responses: { path: '/responses', model: 'any', ...RESPONSES },
  messages: { path: '/messages', model: 'any', ...MESSAGES },
  speech: { path: '/audio/speech', model: 'any', ...SOUND },
  'a turn of chat': { path: '/responses', model: 'chat', ...CHAT, body: RESPONSES.body },
  'a turn of responses': { path: '/responses', model: 'responses', ...RESPONSES },
  'a turn of messages': { path: '/responses', model: 'messages', ...MESSAGES, body: RESPONSES.body },
};

const ERRORS = [
  event({ type: 'error', error: { message: 'MORE' } }),
  '{"error":{"message":"MORE"}}\n\n',
  'data: MORE\n\n',
  'data: {"a":1\n\ndata: {"MORE":\n\n'.repeat(4),
];

describe('after the last event of a stream', () => {
  const stack = new AsyncDisposableStack();
  let provider: ScriptedProvider;
  let gateway: ProxyGateway;
  before(async () => {
    provider = stack.use(await startScriptedProvider());
    const plain = (name: string) => ({
      kind: 'proxy',
      apis: name === 'chat' ? ['responses'] : ['responses', 'chat_completions'],
      responses: 'gateway',
      routes: [{ provider: name, model: 'm' }],
    });
    const apis = ['chat_completions', 'responses', 'messages', 'audio'];
    gateway = stack.use(
      await startProxyGateway({
        providers: {
          any: { url: provider.url },
          quiet: { url: provider.url, timeouts: { idle: 1 } },
          chat: { url: provider.url },
          responses: { url: provider.url, wire: 'responses' },
          messages: { url: provider.url, wire: 'messages' },
        },
        models: {
          any: { kind: 'proxy', apis, responses: 'native', routes: [{ provider: 'any', model: 'm' }] },
          pictures: { kind: 'proxy', apis: ['images'], routes: [{ provider: 'quiet', model: 'm' }] },
          chat: plain('chat'),
          responses: plain('responses'),
          messages: plain('messages'),
        },
      }),
    );
  });
  after(() => stack.disposeAsync());

  /** What the client gets while the provider leaves its connection open. */
  async function ask(
    { path, model, body }: Pick<Wire, 'path' | 'model' | 'body'>,
    pieces: readonly string[],
  ): Promise<string> {
    const steps = pieces.map((bytes): Step => ({ do: 'send', bytes }));
    const headers = { 'content-type': 'text/event-stream' };
    provider.respond = () => ({ status: 200, headers, steps: [...steps, { do: 'hang' }] });
    return await (await send(gateway, path, { body: { model, stream: true, ...body } })).text();
  }

  for (const [name, wire] of Object.entries(WIRES)) {
    it(`nothing is read, and the client does not wait (${name})`, async () => {
      const { begin, end } = wire;
      for (const more of ['', wire.more, ...ERRORS]) {
        for (const pieces of [[begin + end + more], [begin, end + more]]) {
          const text = await ask(wire, pieces);
          if (wire.model === 'any') assert.equal(text, begin + end);
          assert.doesNotMatch(text, /MORE|"type":"response.failed"|"type":"error"/);
          if (wire.path === '/responses') assert.match(text, /"type":"response.completed"/);
        }
      }
    });
  }

  it('a line end that is missing is not waited for as long as for a token', async () => {
    const { begin, end } = CHAT;
    const wire = { path: '/chat/completions', model: 'any', body: CHAT.body };
    for (const pieces of [[begin + end.trimEnd()], [begin, end.trimEnd()]]) {
      assert.equal((await ask(wire, pieces)).trimEnd(), (begin + end).trimEnd());
    }
  });

  it('an image that is ready is whole, although nobody knows whether another one follows', async () => {
    const wire = { path: '/images/generations', model: 'pictures', body: { prompt: 'Draw.' } };
    const part = event({ type: 'image_generation.partial_image', b64_json: 'AAAA' });
    const whole = event({ type: 'image_generation.completed', b64_json: 'AAAA' });
    assert.equal(await ask(wire, [part, whole]), part + whole);
    assert.match(await ask(wire, [part]), /"type":"error"/);
  });
});
