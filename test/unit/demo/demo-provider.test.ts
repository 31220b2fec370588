import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { request as httpRequest } from 'node:http';
import OpenAI from 'openai';
import { type DemoProvider, startDemoProvider } from '../../../src/demo/demo-provider.ts';

const WEB_SEARCH = {
  type: 'function' as const,
  function: { name: 'web_search', parameters: { type: 'object', properties: {} } },
};
const question = { role: 'user' as const, content: 'How does failover between routes work?' };

describe('the demo provider', () => {
  let provider: DemoProvider;
  let client: OpenAI;
  before(async () => {
    provider = await startDemoProvider();
    client = new OpenAI({ baseURL: provider.url, apiKey: 'none', logLevel: 'off', maxRetries: 0 });
  });
  after(() => provider[Symbol.asyncDispose]());

  it('listens on loopback and lists its model', async () => {
    assert.match(provider.url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    const models = await client.models.list();
    assert.deepEqual(
      models.data.map((model) => model.id),
      ['demo'],
    );
  });

  it('streams the same message as it returns whole, with the same usage if asked', async () => {
    const whole = await client.chat.completions.create({ model: 'demo', messages: [question] });
    const stream = client.chat.completions.stream({
      model: 'demo',
      messages: [question],
      stream_options: { include_usage: true },
    });
    const streamed = await stream.finalChatCompletion();
    assert.equal(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
    assert.equal(streamed.choices[0]?.finish_reason, 'stop');
    assert.deepEqual(streamed.usage, whole.usage);
    assert.ok((whole.usage?.completion_tokens ?? 0) > 10);
  });

  it('streams tool calls in fragments, after its reasoning', async () => {
    const stream = await client.chat.completions.create({
      model: 'demo',
      messages: [question],
      tools: [WEB_SEARCH],
      stream: true,
    });
    let reasoning = '';
    let args = '';
    let finish: string | null = null;
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      const delta: { reasoning_content?: string } = Object(choice?.delta);
      reasoning += delta.reasoning_content ?? '';
      args += choice?.delta.tool_calls?.[0]?.function?.arguments ?? '';
      finish = choice?.finish_reason ?? finish;
    }
    assert.match(reasoning, /failover/);
    assert.ok(JSON.parse(args).queries.length > 0);
    assert.equal(finish, 'tool_calls');
  });

  it('stops at max_tokens with finish_reason length, and leaves the text before unchanged', async () => {
    const whole = await client.chat.completions.create({ model: 'demo', messages: [question] });
    for (const limit of [{ max_tokens: 5 }, { max_completion_tokens: 5 }]) {
      const cut = await client.chat.completions.create({ model: 'demo', messages: [question], ...limit });
      assert.equal(cut.choices[0]?.finish_reason, 'length');
      assert.equal(cut.usage?.completion_tokens, 5);
      const text = String(cut.choices[0]?.message.content);
      assert.ok(text.length > 0 && String(whole.choices[0]?.message.content).startsWith(text));
    }
  });

  it("refuses requests that do not match OpenAI's API", async () => {
    const broken = await fetch(`${provider.url}/chat/completions`, { method: 'POST', body: '{' });
    assert.equal(broken.status, 400);
    await assert.rejects(client.chat.completions.create({ model: 'demo', messages: [] }), OpenAI.BadRequestError);
    await assert.rejects(client.embeddings.create({ model: 'demo', input: 'x' }), OpenAI.NotFoundError);
  });

  it('answers from a megabyte of documents before a client times out', async () => {
    const content = JSON.stringify({
      url: 'u',
      title: 't',
      source_id: 1,
      content: 'Failover tries the next route. '.repeat(40_000),
    });
    const messages = [
      question,
      {
        role: 'assistant' as const,
        tool_calls: [{ id: 'a', type: 'function' as const, function: { name: 'fetch_url_content', arguments: '{}' } }],
      },
      { role: 'tool' as const, tool_call_id: 'a', content },
    ];
    const answer = await client.chat.completions.create({ model: 'demo', messages });
    assert.match(String(answer.choices[0]?.message.content), /Failover tries the next route\. \[1\]/);
  });
});

describe('the paced demo provider', () => {
  it('closes while a request is streaming', async () => {
    const provider = await startDemoProvider({ paceMs: 1000 });
    const client = httpRequest(`${provider.url}/chat/completions`, { method: 'POST' });
    client.end(JSON.stringify({ model: 'demo', messages: [question], stream: true }));
    const [response] = await once(client, 'response');
    assert.ok(response instanceof EventEmitter);
    await once(response, 'data');
    response.on('error', () => {});
    await provider[Symbol.asyncDispose]();
    client.destroy();
    await assert.rejects(fetch(`${provider.url}/models`));
  });
});
