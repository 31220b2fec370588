import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  type ChatBody,
  mayCallTools,
  startScriptedProvider,
  type TurnScript,
  turn,
} from '../support/scripted-provider.ts';

/** Researches with a model whose answer turns are `answers`, in their order, and gives the finished response. */
async function research(answers: readonly TurnScript[], fields: object = {}) {
  const asked: ChatBody[] = [];
  await using provider = await startScriptedProvider({
    respond: (request) => {
      if (mayCallTools(request)) return turn({ text: 'Ready.' });
      return turn(answers[asked.push(request.body) - 1]);
    },
  });
  await using gateway = await startProxyGateway({
    providers: { p: { url: provider.url } },
    models: { r: { kind: 'research', routes: [{ provider: 'p', model: 'm' }], research: { effort: 'low' } } },
    tools: { web_search: { provider: 'local', folder: './docs' } },
  });
  const body = { model: 'r', input: 'What is it?', stream: false, ...fields };
  const answer = await send(gateway, '/responses', { body });
  const run: unknown = await answer.json();
  assert.ok(isObject(run), JSON.stringify(run));
  return { run, asked };
}

describe('an answer that its server takes for reasoning', () => {
  it('is the text if the model was asked for it without thoughts', async () => {
    const reasoning = 'It is a gateway.';
    const { run, asked } = await research([{ reasoning }, { reasoning }]);
    assert.equal(run.status, 'completed', JSON.stringify(run.error));
    assert.equal(run.output_text, reasoning);
    assert.equal(asked.length, 2);
  });

  it('is the JSON value at once, since it is checked', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const text = { format: { type: 'json_schema', name: 'n', schema } };
    const { run, asked } = await research([{ reasoning: '{"name": "gateway"}' }], { text });
    assert.equal(run.output_text, '{"name": "gateway"}', JSON.stringify(run.error));
    assert.equal(asked.length, 1);
  });
});

describe('an answer whose model calls a tool although it may not', () => {
  const toolCalls = [{ name: 'web_search', arguments: '{"queries": ["a"]}' }];

  it('comes behind what was said before the call, from a request without tools', async () => {
    const { run, asked } = await research([{ text: 'I look once more.', toolCalls }, { text: 'It is a gateway.' }]);
    assert.equal(run.output_text, 'I look once more.\n\nIt is a gateway.');
    assert.deepEqual(
      asked.map(({ tools }) => tools?.length),
      [2, undefined],
    );
  });

  it('is the first valid JSON value', async () => {
    const announced = { text: 'I look once more.', toolCalls };
    const text = { format: { type: 'json_object' } };
    const { run, asked } = await research([announced, { text: '{"name": "gateway"}', toolCalls }], { text });
    assert.equal(run.output_text, '{"name": "gateway"}');
    assert.equal(asked.length, 2);
  });

  it('is whole if it cites', async () => {
    const { run, asked } = await research([{ text: 'It is a gateway [1].', toolCalls }]);
    assert.equal(run.output_text, 'It is a gateway [?].');
    assert.equal(asked.length, 1);
  });
});

describe('an answer in a Markdown fence', () => {
  const inner = '# Title\n\nIt is `a` gateway.\n\n```js\nx\n```';
  const cases = {
    'is taken out of it': [`\n\`\`\`markdown\n${inner}\n\`\`\`\n`, inner],
    'is taken out of it even if it does not end': ['```md\nIt is `a` gateway.\n\nSo.', 'It is `a` gateway.\n\nSo.'],
    'stays code in another language': [`\`\`\`mdx\n${inner}\n\`\`\``, `\`\`\`mdx\n${inner}\n\`\`\``],
    'stays if it is only a part': [`So:\n\`\`\`markdown\na\n\`\`\``, `So:\n\`\`\`markdown\na\n\`\`\``],
  };
  for (const [what, [text, expected]] of Object.entries(cases)) {
    it(what, async () => {
      for (const chunks of [1, text?.length ?? 1]) {
        const { run } = await research([{ text, chunks }]);
        assert.equal(run.output_text, expected);
      }
    });
  }
});

describe('a JSON answer of a plain model', () => {
  const text = { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } };
  const answers: Record<string, [TurnScript, format: object | undefined, expected: string]> = {
    'is taken out of its fence': [{ text: '```json\n{"a": 1}\n```' }, text, '{"a": 1}'],
    'is taken out of the reasoning if nothing else came': [{ reasoning: '{"a": 1}' }, text, '{"a": 1}'],
    'is no reasoning that is not JSON': [{ reasoning: 'I think.' }, text, ''],
    'stays in its fence if no JSON was asked for': [{ text: '```json\n1\n```' }, undefined, '```json\n1\n```'],
  };
  for (const [what, [answer, format, expected]] of Object.entries(answers)) {
    it(what, async () => {
      await using provider = await startScriptedProvider({ respond: () => turn(answer) });
      await using gateway = await startProxyGateway({
        providers: { p: { url: provider.url } },
        models: {
          m: { kind: 'proxy', apis: ['responses'], responses: 'gateway', routes: [{ provider: 'p', model: 'm' }] },
        },
      });
      const made = await send(gateway, '/responses', { body: { model: 'm', input: 'x', text: format } });
      const response: unknown = await made.json();
      assert.ok(isObject(response) && response.status === 'completed', JSON.stringify(response));
      assert.equal(response.output_text, expected);
    });
  }
});
