import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { CLIENT_KEY, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { frames, json, type Script, startScriptedProvider } from '../support/scripted-provider.ts';

const BYTES = 'iVBORw0KGgoAAAANSUhEUg==';
const PICTURE = `data:image/png;base64,${BYTES}`;
const OTHER = 'data:image/webp;base64,UklGRhIAAABXRUJQ';

const IMAGE_PART = { type: 'input_image', image_url: PICTURE };
const part = (url: string) => ({ type: 'image_url', image_url: { url } });
const chunk = (delta: object, end: string | null = null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', model: 'm' },
  choices: [{ index: 0, delta, finish_reason: end }],
});
const completion = (message: object) => ({
  ...{ id: 'c', object: 'chat.completion', model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
});
const event = (type: string, fields: object = {}) => ({ type, ...fields });
const response = (fields: object) => ({ id: 'r', object: 'response', model: 'm', ...fields });
const item = (fields: object) => ({ id: 'ig_1', type: 'image_generation_call', status: 'completed', ...fields });
const block = (index: number, content: object) => [
  event('content_block_start', { index, content_block: content }),
  event('content_block_stop', { index }),
];
const messageEnd = [
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
  event('message_stop'),
];
const messageStart = event('message_start', {
  message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm' },
});
const source = { type: 'base64', media_type: 'image/png', data: BYTES };

type Wire = 'chat' | 'responses' | 'messages';

interface Case {
  wire?: Wire;
  script: Script;
  text?: string;
  images?: string[];
}

/** What a provider sends, and what of it the client gets. */
const CASES: Readonly<Record<string, Case>> = {
  'chat deltas with `images` alone, repeated': {
    script: frames([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: '', images: [{ index: 0, ...part(PICTURE) }] }),
      chunk({ content: '', images: [{ index: 0, ...part(PICTURE) }, part(OTHER)] }, 'stop'),
    ]),
    images: [PICTURE, OTHER],
  },
  'chat deltas with a text and `images`': {
    script: frames([chunk({ content: 'Here it is.' }), chunk({ images: [part(PICTURE)] }), chunk({}, 'stop')]),
    text: 'Here it is.',
    images: [PICTURE],
  },
  'a whole chat completion': {
    script: json(completion({ content: '', images: [part(PICTURE)] })),
    images: [PICTURE],
  },
  'chat content in parts': {
    script: json(completion({ content: [{ type: 'text', text: 'Here.' }, part(PICTURE)] })),
    text: 'Here.',
    images: [PICTURE],
  },
  'images at an address, which Responses cannot hold': {
    script: json(completion({ content: 'Two:', images: [part('https://a.example/b(c).png'), part(PICTURE)] })),
    text: 'Two:\n\n![image](https://a.example/b%28c%29.png)',
    images: [PICTURE],
  },
  'sound with its words': {
    script: frames([
      chunk({ role: 'assistant', audio: { id: 'a', transcript: 'It is ' } }),
      chunk({ audio: { data: 'UklGRg==' } }),
      chunk({ audio: { transcript: 'noon.' } }),
      chunk({}, 'stop'),
    ]),
    text: 'It is noon.',
  },
  'the Responses API': {
    wire: 'responses',
    script: frames(
      [
        event('response.created', { response: response({ status: 'in_progress', output: [] }) }),
        event('response.output_item.added', { output_index: 0, item: item({ status: 'in_progress', result: null }) }),
        event('response.output_item.done', { output_index: 0, item: item({ result: BYTES, output_format: 'png' }) }),
        event('response.completed', {
          response: response({ status: 'completed', output: [item({ result: BYTES, output_format: 'png' })] }),
        }),
      ],
      { done: false },
    ),
    images: [PICTURE],
  },
  'the Responses API, as a data URL beside a text': {
    wire: 'responses',
    script: json(
      response({
        status: 'completed',
        output: [
          { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Here.' }] },
          item({ result: OTHER }),
        ],
      }),
    ),
    text: 'Here.',
    images: [OTHER],
  },
  'the Messages API': {
    wire: 'messages',
    script: frames(
      [
        messageStart,
        ...block(0, { type: 'text', text: 'Here.' }),
        ...block(1, { type: 'image', source }),
        ...messageEnd,
      ],
      { done: false },
    ),
    text: 'Here.',
    images: [PICTURE],
  },
  'the Messages API, an image alone': {
    wire: 'messages',
    script: frames([messageStart, ...block(0, { type: 'image', source }), ...messageEnd], { done: false }),
    images: [PICTURE],
  },
};

type Json = Record<string, unknown>;

async function open(script: Script | ((n: number) => Script), wire: Wire = 'chat', vision = true) {
  await using opening = new AsyncDisposableStack();
  const respond = typeof script === 'function' ? (_: unknown, n: number) => script(n) : () => script;
  const provider = opening.use(await startScriptedProvider({ respond }));
  const model = { kind: 'proxy', responses: 'gateway', vision, routes: [{ provider: 'p', model: 'm' }] };
  const gateway = opening.use(
    await startProxyGateway({
      providers: { p: { url: provider.url, wire } },
      models: {
        m: { ...model, apis: wire === 'chat' ? ['responses'] : ['responses', 'chat_completions'] },
        deep: { kind: 'research', vision: true, routes: model.routes },
      },
    }),
  );
  const stack = opening.move();
  const ask = async (path: string, body: object): Promise<Json> => {
    const answer: unknown = await (await send(gateway, path, { body: { model: 'm', ...body } })).json();
    assert.ok(isObject(answer));
    return answer;
  };
  const get = async (path: string): Promise<unknown> =>
    await (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${CLIENT_KEY}` } })).json();
  return { provider, gateway, ask, get, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function outputOf(answer: unknown): Json[] {
  assert.ok(isObject(answer) && Array.isArray(answer.output), JSON.stringify(answer));
  return answer.output;
}

/** The images of a response, as data URLs. */
function imagesOf(answer: unknown): string[] {
  return outputOf(answer).flatMap(({ type, status, result, output_format: format }) => {
    if (type !== 'image_generation_call') return [];
    assert.equal(status, 'completed');
    return [`data:image/${format};base64,${result}`];
  });
}

const shown = (...urls: string[]) => ({
  role: 'user',
  content: [{ type: 'text', text: 'Images that you made:' }, ...urls.map((url) => part(url))],
});

describe('images and sound that a model makes', () => {
  for (const [what, { wire = 'chat', script, text = '', images = [] }] of Object.entries(CASES)) {
    it(`are items of the response (${what})`, async () => {
      await using opened = await open(script, wire);
      const blocking = await opened.ask('/responses', { input: 'Draw.' });
      assert.equal(blocking.status, 'completed', JSON.stringify(blocking.error));
      assert.equal(blocking.output_text, text);
      assert.deepEqual(imagesOf(blocking), images);
      assert.equal(outputOf(blocking).length, images.length + (text === '' ? 0 : 1));
      const streamed = await send(opened.gateway, '/responses', { body: { model: 'm', input: 'Draw.', stream: true } });
      const events = payloadsOf(await streamed.text()).filter(isObject);
      const last = events.at(-1)?.response;
      assert.deepEqual(imagesOf(last), images);
      assert.ok(isObject(last));
      assert.deepEqual(await opened.get(`/responses/${last.id}`), last);
      const own = events.filter(({ type }) => String(type).startsWith('response.image_generation_call.'));
      assert.deepEqual(
        own.map(({ type }) => String(type).slice('response.image_generation_call.'.length)),
        images.flatMap(() => ['in_progress', 'generating', 'completed']),
      );
      const warned = [blocking.warnings].flat().map((warning) => isObject(warning) && warning.code);
      assert.deepEqual(warned, what.startsWith('sound') ? ['output_left_out'] : []);
    });
  }

  for (const wire of ['responses', 'messages'] as const) {
    it(`are in chat completions that the gateway makes (${wire})`, async () => {
      const { script = frames([]) } = CASES[`the ${wire === 'responses' ? 'Responses' : 'Messages'} API`] ?? {};
      await using opened = await open(script, wire);
      const asked = { messages: [{ role: 'user', content: 'Draw.' }] };
      const { choices } = await opened.ask('/chat/completions', asked);
      assert.ok(Array.isArray(choices));
      const images = [{ type: 'image_url', image_url: { url: PICTURE }, index: 0 }];
      assert.deepEqual(choices[0].message.images, images);
      const body = { model: 'm', ...asked, stream: true };
      const streamed = payloadsOf(await (await send(opened.gateway, '/chat/completions', { body })).text());
      const deltas = streamed.flatMap((each) => (isObject(each) && Array.isArray(each.choices) ? each.choices : []));
      assert.deepEqual(
        deltas.flatMap(({ delta }) => delta.images ?? []),
        images,
      );
      const [image] = choices;
      await opened.ask('/chat/completions', { messages: [...asked.messages, image.message, ...asked.messages] });
      assert.ok(JSON.stringify(opened.provider.requests.at(-1)?.body).includes(BYTES), 'sent back');
    });
  }

  it('are shown to the model in the next turn, by id, by items, in a conversation and to another kind of model', async () => {
    const drawn = json(completion({ content: 'Here.', images: [part(PICTURE), part(OTHER)] }));
    await using opened = await open(() => drawn);
    const conversation = await opened.ask('/conversations', {});
    const first = await opened.ask('/responses', { input: 'Draw.', conversation: conversation.id });
    const question = { role: 'user', content: 'Draw.' };
    const next = { role: 'user', content: 'Bluer.' };
    const thread = [question, { role: 'assistant', content: 'Here.' }, shown(PICTURE, OTHER), next];
    for (const body of [
      { previous_response_id: first.id, input: 'Bluer.' },
      { input: [question, ...outputOf(first), next] },
      { input: [question, ...outputOf(first).map(({ id }) => ({ type: 'item_reference', id })), next] },
      { input: 'Bluer.', conversation: conversation.id },
    ]) {
      const answer = await opened.ask('/responses', body);
      assert.equal(answer.status, 'completed', JSON.stringify(answer.error));
      assert.deepEqual(opened.provider.requests.at(-1)?.body.messages, thread);
    }
    const count = await opened.ask('/responses/input_tokens', { previous_response_id: first.id, input: 'Bluer.' });
    assert.ok(Number(count.input_tokens) > 2000, JSON.stringify(count));
    await opened.ask('/responses', { model: 'deep', stream: false, previous_response_id: first.id, input: 'Why?' });
    assert.ok(JSON.stringify(opened.provider.requests.at(-1)?.body.messages).includes(BYTES));
  });

  it('are shown to the model where clients put them into messages of others than the user', async () => {
    await using opened = await open(() => json(completion({ content: 'Yes.' })));
    const input = (role: string) => ({ role, content: [{ type: 'input_text', text: 'So.' }, IMAGE_PART] });
    await opened.ask('/responses', {
      input: [input('developer'), input('assistant'), { role: 'user', content: 'Ok?' }],
    });
    assert.deepEqual(opened.provider.requests.at(-1)?.body.messages, [
      { role: 'system', content: 'So.' },
      { role: 'user', content: [{ type: 'text', text: 'Images of these instructions:' }, part(PICTURE)] },
      { role: 'assistant', content: 'So.' },
      shown(PICTURE),
      { role: 'user', content: 'Ok?' },
    ]);
    const thread = [input('assistant'), { role: 'user', content: 'Ok?' }];
    await opened.ask('/responses', { model: 'deep', stream: false, input: thread });
    assert.ok(JSON.stringify(opened.provider.requests.at(-1)?.body.messages).includes(BYTES));
    await using blind = await open(() => json(completion({ content: 'Yes.' })), 'chat', false);
    const { error } = await blind.ask('/responses', { input: thread });
    assert.match(JSON.stringify(error), /input\[0\]\.content\[1\]: this model does not read images/);
  });

  it('are only named to a model without vision', async () => {
    await using opened = await open(() => json(completion({ images: [part(PICTURE)] })), 'chat', false);
    const first = await opened.ask('/responses', { input: 'Draw.' });
    const next = { role: 'user', content: 'Bluer.' };
    const thread = [
      { role: 'user', content: 'Draw.' },
      { role: 'user', content: '(An image that you made, which is not shown here)' },
      next,
    ];
    await opened.ask('/responses', { previous_response_id: first.id, input: 'Bluer.' });
    assert.deepEqual(opened.provider.requests.at(-1)?.body.messages, thread);
  });

  it('are left out beyond 32 MiB, with a warning', async () => {
    const large = (letter: string) => part(`data:image/png;base64,${letter.repeat(20 * 1024 * 1024)}`);
    const images = ['A', 'B'].map((letter) => chunk({ images: [large(letter)] }));
    await using opened = await open(frames([...images, chunk({}, 'stop')]));
    const answer = await opened.ask('/responses', { input: 'Draw.' });
    assert.equal(imagesOf(answer).length, 1);
    assert.match(JSON.stringify(answer.warnings), /"output_left_out".*32 MiB/);
    assert.deepEqual(await opened.get(`/responses/${answer.id}`), answer);
  });

  it('count towards what the files of a request may take together', async () => {
    const large = part(`data:image/png;base64,${'A'.repeat(31 * 1024 * 1024)}`);
    await using opened = await open(json(completion({ images: [large] })));
    const { id } = await opened.ask('/responses', { input: 'Draw.' });
    const form = new FormData();
    const bytes = Buffer.alloc(18 * 1024 * 1024);
    bytes.set(Buffer.from(BYTES, 'base64'));
    form.set('file', new File([bytes], 'a.png', { type: 'image/png' }));
    form.set('purpose', 'user_data');
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const uploaded = await fetch(`${opened.gateway.url}/files`, { method: 'POST', headers, body: form });
    const { id: file_id } = JSON.parse(await uploaded.text());
    const input = [{ role: 'user', content: [{ type: 'input_image', file_id }] }];
    const { error } = await opened.ask('/responses', { previous_response_id: id, input });
    assert.match(JSON.stringify(error), /40 MiB together/);
  });

  it('are an error if the provider failed to make the only one, or one without bytes is the whole answer', async () => {
    for (const output of [
      [item({ status: 'failed', result: null })],
      [item({ result: null })],
      [item({ status: 'failed' }), { type: 'web_search_call', id: 'ws_1', status: 'failed' }],
    ]) {
      const end = event('response.completed', { response: response({ status: 'completed', output }) });
      for (const script of [json(response({ status: 'completed', output })), frames([end], { done: false })]) {
        await using opened = await open(script, 'responses');
        const answer = await opened.ask('/responses', { input: 'Draw.' });
        assert.equal(answer.status ?? 'failed', 'failed', JSON.stringify(answer));
        assert.match(JSON.stringify(answer.error), /empty answer/);
      }
    }
  });

  it('are an error if they are sound without words, and no answer of research', async () => {
    await using opened = await open(json(completion({ content: null, audio: { id: 'a', data: 'UklGRg==' } })));
    const { error } = await opened.ask('/responses', { input: 'Say.' });
    assert.match(JSON.stringify(error), /sound without its words/);
    opened.provider.respond = () => json(completion({ content: '', images: [part(PICTURE)] }));
    const research = await opened.ask('/responses', { model: 'deep', stream: false, input: 'What is it?' });
    assert.match(JSON.stringify(research.error), /empty answer/);
  });
});
