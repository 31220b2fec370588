import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { KEYS } from '../support/http-gateway.ts';
import { laneProvider } from '../support/lane-model.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

const PARTS = ['lake depth', 'lake age', 'lake width'];
const INPUT = 'Tell me all of the lake.';

describe('research lanes over HTTP', () => {
  const stack = new AsyncDisposableStack();
  let gateway: ResearchGateway;
  let client: OpenAI;

  before(async () => {
    const provider = stack.use(await startScriptedProvider({ respond: laneProvider(PARTS) }));
    const route = { kind: 'research', routes: [{ provider: 'scripted', model: 'scripted' }] };
    gateway = stack.use(
      await openResearchGateway({
        provider,
        research: { report: 'short' },
        models: {
          wide: { ...route, research: { lanes: 3, report: 'short' } },
          sure: { ...route, research: { attempts: 2, report: 'short' } },
        },
        documents: {
          'lake.md': '# The lake\n\nThe lake is 1642 metres deep, 25 million years old and 79 km in width.\n',
        },
      }),
    );
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEYS.ann, maxRetries: 0 });
  });
  after(() => stack.disposeAsync());

  const lanesIn = (output: readonly object[]) =>
    output.flatMap((item) => ('lane' in item && 'name' in item ? [Number(item.lane)] : [])).sort();

  it("appear in the final response of the official SDK's stream helper", async () => {
    const stream = client.responses.stream({ model: 'deep', input: INPUT, ...{ research: { lanes: 3 } } });
    const added = new Map<number, unknown>();
    stream.on('event', (event) => {
      if (event.type === 'response.output_item.added') added.set(event.output_index, Reflect.get(event.item, 'lane'));
    });
    const response = await stream.finalResponse();
    assert.equal(response.status, 'completed');
    assert.deepEqual(lanesIn(response.output), [1, 2, 3]);
    assert.deepEqual(
      response.output.map((item) => Reflect.get(item, 'lane')),
      response.output.map((_item, index) => added.get(index)),
    );
    const stored = await client.responses.retrieve(response.id);
    assert.deepEqual(lanesIn(stored.output), [1, 2, 3]);
  });

  it('have a model default that a request can override, as do attempts', async () => {
    assert.deepEqual(lanesIn((await gateway.respond({ model: 'wide', input: INPUT })).output), [1, 2, 3]);
    const one = await gateway.respond({ model: 'wide', input: INPUT, research: { lanes: 1 } });
    assert.deepEqual(lanesIn(one.output), []);
    const before = gateway.provider.requests.length;
    await gateway.respond({ model: 'wide', input: INPUT, research: { attempts: 2 } });
    await gateway.respond({ model: 'sure', input: INPUT });
    const asked = gateway.provider.requests.slice(before).map(({ body }) => JSON.stringify(body.messages));
    assert.equal(asked.filter((messages) => /this is attempt 2/.test(messages)).length > 1, true);
  });

  it('become numbered reasoning_steps in chat completions, and work in tasks', async () => {
    const messages = [{ role: 'user' as const, content: INPUT }];
    const chat = client.chat.completions.stream({ model: 'wide', messages });
    const whole = await chat.finalChatCompletion();
    assert.match(whole.choices[0]?.message.content ?? '', /All of it is known/);
    const steps: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({ model: 'wide', messages, stream: true })) {
      const shown: unknown = Reflect.get(chunk.choices[0]?.delta ?? {}, 'reasoning_steps');
      if (Array.isArray(shown)) steps.push(...shown);
    }
    const indexes = steps.map((step) => Number(Reflect.get(Object(step), 'index')));
    assert.deepEqual(
      indexes,
      indexes.toSorted((a, b) => a - b),
    );
    assert.equal(steps.filter((step) => Reflect.get(Object(step), 'type') === 'web_search').length, 3);
    const body = { model: 'deep', messages, research: { lanes: 2 } };
    const task: { id: string } = await client.post('/async', { body });
    const followed = await client.responses.retrieve(task.id.replace('task_', 'resp_'), { stream: true });
    let output: readonly object[] = [];
    for await (const event of followed) if (event.type === 'response.completed') output = event.response.output;
    assert.deepEqual(lanesIn(output), [1, 1, 2]);
  });
});
