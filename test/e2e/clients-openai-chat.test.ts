import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { MODEL, QUESTION } from '../support/client-gateway.ts';
import { until } from '../support/http-gateway.ts';
import { chatHelper, forEachMajor, thrownAs } from '../support/openai-majors.ts';

const RESEARCH = { model: MODEL.research, messages: [{ role: 'user' as const, content: QUESTION }] };

/** What research models add to OpenAI's message. */
interface ResearchMessage {
  reasoning_content: string;
  reasoning_steps: { index: number; type: string }[];
}

interface ResearchCompletion {
  search_results: { title: string; url: string; snippet: string }[];
}

forEachMajor('the official SDK: chat completions of a research model', (major) => {
  it('create returns a cited answer with the steps that led to it', async () => {
    const completion = await major.client().chat.completions.create(RESEARCH);
    const [choice] = completion.choices;
    assert.ok(choice);
    assert.equal(choice.finish_reason, 'stop');
    assert.match(choice.message.content ?? '', /tidal turbine/);
    assert.match(choice.message.annotations?.[0]?.url_citation.url ?? '', /^corpus:/);
    const { reasoning_steps } = choice.message as unknown as ResearchMessage;
    assert.deepEqual(new Set(reasoning_steps.map(({ type }) => type)), new Set(STEP_TYPES));
    assert.equal(new Set(reasoning_steps.map(({ index }) => index)).size, reasoning_steps.length);
    assert.ok((completion as unknown as ResearchCompletion).search_results.length > 0);
    assert.ok((completion.usage?.completion_tokens ?? 0) > 0);
  });

  it('create with stream: true yields the role, steps, content, and a last chunk with usage', async () => {
    const chunks = await Array.fromAsync(await major.client().chat.completions.create({ ...RESEARCH, stream: true }));
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    assert.match(text, /tidal turbine/);
    assert.deepEqual(
      chunks.filter((chunk) => chunk.choices[0]?.finish_reason).map((chunk) => chunk.choices[0]?.finish_reason),
      ['stop'],
    );
    assert.ok((chunks.at(-1)?.usage?.total_tokens ?? 0) > 0);
    const steps = chunks.flatMap((chunk) => {
      const delta = chunk.choices[0]?.delta as Partial<ResearchMessage> | undefined;
      return delta?.reasoning_steps ?? [];
    });
    assert.deepEqual(new Set(steps.map(({ type }) => type)), new Set(STEP_TYPES));
  });

  it('the stream helper builds the whole completion', async () => {
    const stream = chatHelper(major, RESEARCH);
    let content = '';
    stream.on('content', (delta) => {
      content += delta;
    });
    const completion = await stream.finalChatCompletion();
    assert.match(content, /tidal turbine/);
    assert.equal(completion.choices[0]?.message.content, content);
    assert.equal(completion.choices[0]?.finish_reason, 'stop');
    assert.ok(((await stream.totalUsage()).total_tokens ?? 0) > 0);
  });

  it('a run that fails before its answer throws, streamed or not', async () => {
    const body = { ...RESEARCH, model: MODEL.broken };
    const thrown = thrownAs(major.sdk.InternalServerError, { status: 502, code: 'upstream_error' });
    await assert.rejects(major.client().chat.completions.create(body), thrown);
    await assert.rejects(major.client().chat.completions.create({ ...body, stream: true }), thrown);
    await assert.rejects(chatHelper(major, body).finalChatCompletion(), thrown);
  });

  it('a stream that fails in the middle throws while it is read', async () => {
    const body = { ...RESEARCH, model: MODEL.cut };
    const stream = await major.client().chat.completions.create({ ...body, stream: true });
    let text = '';
    const reading = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    })();
    await assert.rejects(reading, thrownAs(major.sdk.APIError, { code: 'upstream_error' }));
    assert.equal(text, 'The first half of the answer');
    await assert.rejects(chatHelper(major, body).finalChatCompletion(), major.sdk.APIError);
  });

  it('aborting a call, streamed or not, stops the call to the provider', async () => {
    const { provider } = major.gateway;
    const body = { ...RESEARCH, model: MODEL.slow };
    const leaving = new AbortController();
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

forEachMajor('the official SDK: models and tasks', (major) => {
  it('models.list and models.retrieve return the models that the key may use', async () => {
    const models = await Array.fromAsync(await major.client().models.list());
    assert.deepEqual(new Set(models.map(({ id }) => id)), new Set(Object.values(MODEL)));
    const model = await major.client().models.retrieve(MODEL.research);
    assert.deepEqual(
      model,
      models.find(({ id }) => id === MODEL.research),
    );
  });

  it('client.post and client.get create and poll async tasks', async () => {
    interface Task {
      id: string;
      status: string;
      result?: OpenAI.ChatCompletion;
    }
    const client = major.client();
    const created = await client.post<Task>('/async', { body: RESEARCH });
    assert.deepEqual([created.id.slice(0, 5), created.status], ['task_', 'CREATED']);
    const done = await until(async () => {
      const task = await client.get<Task>(`/async/${created.id}`);
      return task.status === 'COMPLETED' ? task : undefined;
    });
    assert.match(done.result?.choices[0]?.message.content ?? '', /tidal turbine/);
  });
});

const STEP_TYPES = ['thinking', 'web_search', 'fetch_url_content'];
