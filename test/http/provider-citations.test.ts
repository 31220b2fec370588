import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { CLIENT_KEY, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { frames, startScriptedProvider } from '../support/scripted-provider.ts';

const PAGE = 'https://a.example/page';
const OTHER = 'https://b.example/';

const chunk = (delta: object, beside: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', model: 'm', ...beside },
  choices: [{ index: 0, delta, finish_reason: null }],
});
const END: object = {
  ...{ id: 'c', object: 'chat.completion.chunk', model: 'm' },
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
};
const annotation = (fields: object) => ({
  type: 'url_citation',
  url_citation: { url: PAGE, title: 'A page', ...fields },
});

const message = {
  ...{ type: 'message', id: 'msg', role: 'assistant', status: 'completed' },
  content: [
    { type: 'output_text', text: 'It is so.', annotations: [] },
    {
      ...{ type: 'output_text', text: ' Is it?' },
      annotations: [{ type: 'url_citation', url: PAGE, title: 'A page', start_index: 1, end_index: 3 }],
    },
  ],
};
const response = (fields: object) => ({ id: 'r', object: 'response', model: 'm', ...fields });
const event = (type: string, fields: object) => ({ type, ...fields });
const block = (index: number, text: string, citations: readonly object[]) => [
  event('content_block_start', { index, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index, delta: { type: 'text_delta', text } }),
  ...citations.map((citation) => event('content_block_delta', { index, delta: { type: 'citations_delta', citation } })),
  event('content_block_stop', { index }),
];

/** What a provider sends, and the words of the answer that rest on each page. */
const CASES: Readonly<
  Record<string, { wire?: 'responses' | 'messages'; payloads: object[]; cited: [string, string][] }>
> = {
  'chat completions, a list in the last delta': {
    payloads: [
      chunk({ role: 'assistant', content: 'It is so. ' }),
      chunk({ content: 'Is it?' }),
      chunk({ annotations: [annotation({ start_index: 10, end_index: 12 }), annotation({ url: OTHER })] }),
      END,
    ],
    cited: [
      ['Is', PAGE],
      ['It is so. Is it?', OTHER],
    ],
  },
  'chat completions, numbered pages in each chunk': {
    payloads: [
      ...['It is so[2][', '1]. `a[1]` is', ' code, [9] is no page.'].map((content) =>
        chunk({ content }, { citations: [PAGE, OTHER], search_results: [{ title: 'A page', url: PAGE }] }),
      ),
      END,
    ],
    cited: [
      ['[2]', OTHER],
      ['[1]', PAGE],
    ],
  },
  'chat completions, the same list with each delta': {
    payloads: [
      ...['It is so. ', 'Is it?'].map((content) =>
        chunk({ content, annotations: [annotation({ start_index: 0, end_index: 5 })] }),
      ),
      END,
    ],
    cited: [['It is', PAGE]],
  },
  'the Responses API': {
    wire: 'responses',
    payloads: [
      event('response.created', { response: response({ status: 'in_progress', output: [] }) }),
      event('response.output_item.added', { output_index: 0, item: { ...message, content: [] } }),
      event('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'It is so.' }),
      event('response.output_text.delta', { output_index: 0, content_index: 1, delta: ' Is it?' }),
      event('response.output_item.done', { output_index: 0, item: message }),
      event('response.completed', { response: response({ status: 'completed', output: [message] }) }),
    ],
    cited: [['Is', PAGE]],
  },
  'the Messages API': {
    wire: 'messages',
    payloads: [
      event('message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm' } }),
      ...block(0, 'It is so. ', []),
      ...block(1, 'Is it?', [
        { type: 'web_search_result_location', url: PAGE, title: 'A page', cited_text: 'It is.' },
        { type: 'char_location', document_index: 0, cited_text: 'It is.' },
        { type: 'web_search_result_location', url: 'javascript:alert(1)', title: 'No page' },
      ]),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
      event('message_stop', {}),
    ],
    cited: [['Is it?', PAGE]],
  },
};

/** The annotations of the answer, each with the words that it cites. */
function citedIn(value: unknown): [string, unknown][] {
  assert.ok(isObject(value) && Array.isArray(value.output), JSON.stringify(value));
  const item: unknown = value.output.at(-1);
  assert.ok(isObject(item) && Array.isArray(item.content), JSON.stringify(value));
  const [part] = item.content;
  return part.annotations.map((each: Record<string, number>) => [
    part.text.slice(each.start_index, each.end_index),
    each.url,
  ]);
}

describe('citations that a provider makes itself', () => {
  for (const [what, { wire = 'chat', payloads, cited }] of Object.entries(CASES)) {
    it(`are those of the response (${what})`, async () => {
      await using provider = await startScriptedProvider({
        respond: () => frames(payloads, { done: wire === 'chat' }),
      });
      await using gateway = await startProxyGateway({
        providers: { p: { url: provider.url, wire } },
        models: {
          m: { kind: 'proxy', apis: ['responses'], responses: 'gateway', routes: [{ provider: 'p', model: 'm' }] },
        },
      });
      const body = { model: 'm', input: 'Is it so?', stream: true };
      const events = payloadsOf(await (await send(gateway, '/responses', { body })).text()).filter(isObject);
      const last = events.at(-1);
      assert.equal(last?.type, 'response.completed', JSON.stringify(last));
      assert.ok(isObject(last.response));
      assert.deepEqual(citedIn(last.response), cited);
      const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
      assert.deepEqual(
        added.map(
          ({ annotation }) => isObject(annotation) && [annotation.url, annotation.verified, annotation.support],
        ),
        cited.map(([, url]) => [url, false, 'unchecked']),
      );
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      const stored = await fetch(`${gateway.url}/responses/${last.response.id}`, { headers });
      assert.deepEqual(citedIn(await stored.json()), cited);
    });
  }

  it('are those of a chat completion that the gateway makes', async () => {
    const { payloads = [] } = CASES['the Messages API'] ?? {};
    await using provider = await startScriptedProvider({ respond: () => frames(payloads, { done: false }) });
    await using gateway = await startProxyGateway({
      providers: { p: { url: provider.url, wire: 'messages' } },
      models: { m: { kind: 'proxy', routes: [{ provider: 'p', model: 'm' }] } },
    });
    const body = { model: 'm', messages: [{ role: 'user', content: 'Is it so?' }] };
    const answer: unknown = await (await send(gateway, '/chat/completions', { body })).json();
    assert.ok(isObject(answer) && Array.isArray(answer.choices), JSON.stringify(answer));
    const [{ message: written }] = answer.choices;
    const [{ url_citation: cited }] = written.annotations;
    assert.equal(cited.url, PAGE);
    assert.equal(written.content.slice(cited.start_index, cited.end_index), 'Is it?');
    const streamed = await send(gateway, '/chat/completions', { body: { ...body, stream: true } });
    const last = payloadsOf(await streamed.text()).findLast(isObject);
    assert.ok(Array.isArray(last?.choices), JSON.stringify(last));
    assert.deepEqual(last.choices[0].delta.annotations, written.annotations);
  });
});
