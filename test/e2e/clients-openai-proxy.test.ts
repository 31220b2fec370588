import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { MODEL } from '../support/client-gateway.ts';
import { PROXY_TEXT } from '../support/client-provider.ts';
import { until } from '../support/http-gateway.ts';
import { chatHelper, forEachMajor, thrownAs } from '../support/openai-majors.ts';

const CHAT = { model: MODEL.proxy, messages: [{ role: 'user' as const, content: 'Hello.' }] };
const WEATHER = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };

interface Task {
  id: string;
  status: string;
  result?: OpenAI.ChatCompletion;
}

forEachMajor('the official SDK: proxy models', (major) => {
  it('a chat completion arrives as the provider wrote it', async () => {
    const completion = await major.client().chat.completions.create(CHAT);
    assert.equal(completion.choices[0]?.message.content, PROXY_TEXT);
    assert.equal(completion.usage?.total_tokens, 7);
    const sent = major.gateway.provider.requests.at(-1);
    assert.deepEqual([sent?.body.model, sent?.headers.authorization], ['plain', 'Bearer sk-provider']);
  });

  it('a streamed chat completion arrives with all its text and its finish reason', async () => {
    const chunks = await Array.fromAsync(await major.client().chat.completions.create({ ...CHAT, stream: true }));
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), PROXY_TEXT);
    assert.equal(chunks.findLast((chunk) => chunk.choices[0])?.choices[0]?.finish_reason, 'stop');
  });

  it('the stream helper builds text and function calls', async () => {
    const text = await chatHelper(major, CHAT).finalChatCompletion();
    assert.equal(text.choices[0]?.message.content, PROXY_TEXT);
    const tools = [{ type: 'function' as const, function: WEATHER }];
    const calls = await chatHelper(major, { ...CHAT, tools }).finalChatCompletion();
    const [call] = calls.choices[0]?.message.tool_calls ?? [];
    assert.ok(call?.type === 'function');
    assert.deepEqual([call.function.name, call.function.arguments], ['weather', '{"city":"Elmsworth"}']);
  });

  it('embeddings arrive as base64, the default of the SDK, and as floats', async () => {
    const input = ['first', 'second'];
    for (const format of [undefined, 'float' as const]) {
      const body = { model: MODEL.proxy, input, ...(format && { encoding_format: format }) };
      const { data } = await major.client().embeddings.create(body);
      assert.deepEqual(
        data.map(({ embedding }) => [...embedding]),
        [
          [0.5, -1],
          [1.5, -1],
        ],
      );
    }
  });

  it('a file in a multipart form reaches the provider', async () => {
    const file = await major.sdk.toFile(Buffer.from('not really a sound'), 'sound.wav');
    const heard = await major.client().audio.transcriptions.create({ model: MODEL.proxy, file });
    assert.equal(heard.text, 'heard true');
  });

  it('a response of the provider keeps its own id', async () => {
    const response = await major.client().responses.create({ model: MODEL.proxy, input: 'Hello.' });
    assert.deepEqual([response.id, response.output_text], ['resp_of_the_provider', PROXY_TEXT]);
  });

  it('a task has the completion as its result', async () => {
    const client = major.client();
    const { id } = await client.post<Task>('/async', { body: CHAT });
    const done = await until(async () => {
      const task = await client.get<Task>(`/async/${id}`);
      return task.status === 'CREATED' || task.status === 'IN_PROGRESS' ? undefined : task;
    });
    assert.deepEqual([done.status, done.result?.choices[0]?.message.content], ['COMPLETED', PROXY_TEXT]);
  });

  it('an error of the provider keeps its status, and a broken stream throws', async () => {
    const { APIError, InternalServerError } = major.sdk;
    const refused = major.client().chat.completions.create({ ...CHAT, model: MODEL.proxyDown });
    await assert.rejects(refused, thrownAs(InternalServerError, { status: 503 }));
    const broken = await major.client().chat.completions.create({ ...CHAT, model: MODEL.proxyCut, stream: true });
    let text = '';
    const reading = (async () => {
      for await (const chunk of broken) text += chunk.choices[0]?.delta.content ?? '';
    })();
    await assert.rejects(reading, thrownAs(APIError, { code: 'upstream_error' }));
    assert.equal(text, 'The first half of the answer');
  });

  it('a silent provider becomes a 504, which the SDK retries', async () => {
    const retries: (string | null)[] = [];
    const counting = (...[url, init]: Parameters<typeof fetch>) => {
      retries.push(new Headers(init?.headers).get('x-stainless-retry-count'));
      return fetch(url, init);
    };
    const client = major.client({ fetch: counting, maxRetries: 1 });
    const silent = client.chat.completions.create({ ...CHAT, model: MODEL.proxySilent });
    const { InternalServerError } = major.sdk;
    await assert.rejects(silent, thrownAs(InternalServerError, { status: 504, code: 'upstream_timeout' }));
    assert.deepEqual(retries, ['0', '1']);
  });

  it('aborting a call, streamed or not, aborts the call to the provider', async () => {
    const { provider } = major.gateway;
    const leaving = new AbortController();
    const body = { ...CHAT, model: MODEL.proxySlow };
    const waiting = [
      major.client().chat.completions.create(body, { signal: leaving.signal }),
      major.client().chat.completions.create({ ...body, stream: true }, { signal: leaving.signal }),
    ].map((call) => assert.rejects(Promise.resolve(call), major.sdk.APIUserAbortError));
    await provider.waitForActive(2);
    leaving.abort();
    await Promise.all(waiting);
    await provider.waitForActive(0);
  });
});
