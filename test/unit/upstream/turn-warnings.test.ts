import assert from 'node:assert/strict';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import type { Warning } from '../../../src/protocol/warnings.ts';
import { cutAfter, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { strictMessages } from '../../support/strict-wires.ts';
import { ask, chat, config, QUESTION } from './chat-harness.ts';

/** A model with these providers, and the warnings it gave. */
function telling(parsed: GatewayConfig) {
  const { upstream } = chat(parsed);
  const told: Warning[] = [];
  const { deep } = parsed.models;
  assert.ok(deep);
  const key = parsed.keys[0];
  const model = upstream.chatModel({ modelName: 'deep', model: deep, key, onWarning: (w) => told.push(w) });
  return { upstream, model, told };
}

describe('warnings about turns', () => {
  it('name a route that was given up, but not one that answered on retry', async () => {
    let asked = 0;
    await using failing = await startScriptedProvider({ respond: () => status(404) });
    await using flaky = await startScriptedProvider({
      respond: () => (++asked === 1 ? status(503) : turn({ text: 'yes' })),
    });
    const parsed = config({ a: { base_url: failing.url }, b: { base_url: flaky.url } });
    const { upstream, model, told } = telling(parsed);
    await using _ = upstream;
    await ask(model);
    assert.deepEqual(
      told.map(({ code, message }) => [code, message]),
      [['route_failed_over', 'The route to a (a-model) was given up for another one: refused.']],
    );
  });

  it('name parameters that the provider does not take', async () => {
    await using provider = await startScriptedProvider({
      respond: ({ body }) =>
        'temperature' in Object(body)
          ? status(400, { message: "Unsupported parameter: 'temperature'" })
          : turn({ text: 'yes' }),
    });
    const parsed = config({ a: { base_url: provider.url } });
    const { upstream, model, told } = telling(parsed);
    await using _ = upstream;
    await ask(model);
    assert.deepEqual(told, []);
    await ask(model, { ...QUESTION, temperature: 0.5, topP: 0.9 });
    assert.deepEqual(told, [
      {
        code: 'parameter_adapted',
        param: 'temperature',
        message: 'The provider takes no temperature: it was left out.',
      },
    ]);
  });

  it('name sampling parameters that a thinking model of the Messages API cannot take', async () => {
    const server = strictMessages(0, { thinks: 'adaptive' });
    await using provider = await startScriptedProvider({ respond: (request) => server.respond(request) });
    const parsed = config({ a: { base_url: provider.url, wire: 'messages', api_key: 'sk-provider-0123' } });
    const { upstream, model, told } = telling(parsed);
    await using _ = upstream;
    await ask(model, { ...QUESTION, temperature: 1 });
    assert.equal(told.length, 0);
    await ask(model, { ...QUESTION, temperature: 0.5, topP: 0.9 });
    assert.deepEqual(
      told.map(({ code, param }) => [code, param]),
      [
        ['parameter_adapted', 'temperature'],
        ['parameter_adapted', 'top_p'],
      ],
    );
    assert.deepEqual(server.refusals, []);
    told.length = 0;
    await ask(model, { ...QUESTION, temperature: 0.5, reasoningEffort: 'none' });
    assert.equal(told.length, 0);
    await ask(model, { ...QUESTION, temperature: 1.5, reasoningEffort: 'none' });
    assert.deepEqual(
      told.map(({ message }) => message),
      ['The provider takes a temperature of at most 1: it was sent 1.'],
    );
    assert.equal(provider.requests.at(-1)?.body.temperature, 1);
  });

  it('name a format that the Messages API cannot hold an answer to', async () => {
    const server = strictMessages(0, { thinks: 'adaptive' });
    await using provider = await startScriptedProvider({ respond: (request) => server.respond(request) });
    const parsed = config({ a: { base_url: provider.url, wire: 'messages', api_key: 'sk-provider-0123' } });
    const { upstream, model, told } = telling(parsed);
    await using _ = upstream;
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const strict = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } };
    await ask(model, { ...QUESTION, responseFormat: strict });
    assert.deepEqual(told, []);
    await ask(model, { ...QUESTION, responseFormat: { type: 'json_object' } });
    assert.deepEqual(
      told.map(({ code, param }) => [code, param]),
      [['parameter_adapted', 'text.format']],
    );
  });

  it('name a route that broke off a turn, once another has answered', async () => {
    await using breaking = await startScriptedProvider({ respond: () => cutAfter(4) });
    await using good = await startScriptedProvider({ respond: () => turn({ text: 'yes' }) });
    const parsed = config({ a: { base_url: breaking.url }, b: { base_url: good.url } });
    const { upstream, model, told } = telling(parsed);
    await using _ = upstream;
    await assert.rejects(ask(model));
    assert.deepEqual(told, [], 'a failed turn warns of nothing');
    await ask(model);
    assert.deepEqual(
      told.map(({ code, message }) => [code, message]),
      [['route_failed_over', 'The route to a (a-model) was given up for another one: failed.']],
    );
  });
});
