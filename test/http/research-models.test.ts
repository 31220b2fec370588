import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { send, startProxyGateway } from '../support/proxy-gateway.ts';
import { mayCallTools, startScriptedProvider, type TurnScript, turn } from '../support/scripted-provider.ts';

/** Researches with a model whose answer turns are `answers`, in their order, and gives the finished response. */
async function research(answers: readonly TurnScript[], fields: object = {}) {
  let answered = 0;
  await using provider = await startScriptedProvider({
    respond: (request) => turn(mayCallTools(request) ? { text: 'Ready.' } : answers[answered++]),
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
  return { run, answered };
}

describe('an answer that its server takes for reasoning', () => {
  it('is the text if the model was asked for it without thoughts', async () => {
    const reasoning = 'It is a gateway.';
    const { run, answered } = await research([{ reasoning }, { reasoning }]);
    assert.equal(run.status, 'completed', JSON.stringify(run.error));
    assert.equal(run.output_text, reasoning);
    assert.equal(answered, 2);
  });

  it('is the JSON value at once, since it is checked', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const text = { format: { type: 'json_schema', name: 'n', schema } };
    const { run, answered } = await research([{ reasoning: '{"name": "gateway"}' }], { text });
    assert.equal(run.output_text, '{"name": "gateway"}', JSON.stringify(run.error));
    assert.equal(answered, 1);
  });
});
