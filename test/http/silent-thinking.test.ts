import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { type Script, type Step, startScriptedProvider } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** Long enough for everything but silence, also on one core that does much else. */
const IDLE_MS = Math.max(500, patience(0.2));
const timeouts = { idle: IDLE_MS / 1000, patience: (1.8 * IDLE_MS) / 1000 };
/** How long the model is silent, in milliseconds: longer than `timeouts`. */
const THINKS = Math.ceil(2.4 * IDLE_MS);

const events = (...payloads: (object | number)[]): Script => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  steps: [
    ...payloads.map(
      (payload): Step =>
        typeof payload === 'number'
          ? { do: 'wait', ms: payload }
          : { do: 'send', bytes: `event: x\ndata: ${JSON.stringify(payload)}\n\n` },
    ),
    { do: 'end' },
  ],
});

const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I know.' }] };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
const response = (status: string) => ({ object: 'response', status, output: [], usage: null });
const RESPONSES = [
  { type: 'response.created', response: response('in_progress') },
  { type: 'response.output_item.added', output_index: 0, item: reasoning },
  THINKS,
  { type: 'response.output_item.done', output_index: 0, item: reasoning },
  { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
  { type: 'response.output_text.delta', output_index: 1, delta: 'I know.' },
  { type: 'response.output_item.done', output_index: 1, item: message },
];
const MESSAGES = [
  { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  THINKS,
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'x' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'I know.' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
];
const COMPLETED = { type: 'response.completed', response: response('completed') };

describe('a model that reasons silently', () => {
  for (const [wire, script] of [
    ['responses', events(...RESPONSES, COMPLETED)],
    ['messages', events(...MESSAGES)],
  ] as const) {
    it(`does not time out, even if there is another route (${wire})`, async () => {
      await using thinker = await startScriptedProvider({ respond: () => script });
      await using other = await startScriptedProvider();
      await using gateway = await startProxyGateway({
        providers: { thinker: { url: thinker.url, wire, timeouts }, other: { url: other.url } },
      });
      const answer = await send(gateway, '/responses', { body: { model: 'deep', input: 'Why?', stream: false } });
      const run: unknown = await answer.json();
      assert.ok(isObject(run));
      assert.deepEqual([run.status, run.output_text], ['completed', 'I know.'], JSON.stringify(run.error));
      assert.equal(other.requests.length, 0);
    });
  }

  it('does not time out in proxied responses, except once it has sent text', async () => {
    await using provider = await startScriptedProvider({ respond: () => events(...RESPONSES, COMPLETED) });
    await using gateway = await startProxyGateway({ providers: { thinker: { url: provider.url, timeouts } } });
    const body = { model: 'fast', input: 'Why?', stream: true };
    const whole = payloadsOf(await (await send(gateway, '/responses', { body })).text());
    assert.equal(whole.length, 7, JSON.stringify(whole));
    provider.respond = () => events(...RESPONSES, THINKS, COMPLETED);
    const stalled = payloadsOf(await (await send(gateway, '/responses', { body })).text());
    assert.match(JSON.stringify(stalled.at(-1)), /upstream_timeout/);
  });
});
