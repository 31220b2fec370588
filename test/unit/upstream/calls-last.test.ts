import assert from 'node:assert/strict';
import type { TurnMessage } from '../../../src/upstream/turn.ts';
import { tool } from '../../support/decode-turn.ts';
import { raw, startScriptedProvider, status } from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf, QUESTION, textOf } from './chat-harness.ts';

const message = (id: string, text: string) => ({
  type: 'message',
  id,
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const call = (n: number) => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name: 'a_tool',
  arguments: '{}',
});
/** An answer as DeepSeek's API gives it: reasoning in plain text, and messages between the calls. */
const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', content: [{ type: 'reasoning_text', text: 'Two things.' }] },
  message('msg_1', 'First this.'),
  call(1),
  message('msg_2', 'Then that.'),
  call(2),
];
const completed = (output: readonly object[]) =>
  raw(
    `data: ${JSON.stringify({ type: 'response.completed', response: { object: 'response', status: 'completed', output } })}\n\n`,
  );

describe('a turn with text between its calls, sent back over the Responses API', () => {
  it('puts its calls last if the provider wants them beside their outputs, learned once', async () => {
    const seen: string[][] = [];
    await using provider = await startScriptedProvider({
      respond: ({ body }) => {
        const input = body.input as { type?: string; role?: string }[];
        const kinds = input.map(({ type, role }) => type ?? role ?? '');
        seen.push(kinds);
        if (kinds.length === 1) return completed(OUTPUT);
        const calls = kinds.indexOf('function_call');
        const rest = kinds.slice(calls).join();
        if (!/^(function_call,)+(function_call_output,?)+$/.test(rest)) {
          return status(400, { message: 'No tool output found for tool call call_1.' });
        }
        return completed([message('msg_3', 'Done.')]);
      },
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, wire: 'responses' } }));
    await using _ = upstream;
    const tools = [tool('a_tool')];
    const first = finishOf(await ask(model, { ...QUESTION, tools }));
    assert.equal(first.message.tool_calls?.length, 2);
    const messages: TurnMessage[] = [
      ...QUESTION.messages,
      first.message,
      ...(first.message.tool_calls ?? []).map(
        ({ id }): TurnMessage => ({ role: 'tool', tool_call_id: id, content: 'x' }),
      ),
    ];
    for (let turns = 0; turns < 2; turns += 1) assert.equal(textOf(await ask(model, { messages, tools })), 'Done.');
    const asReceived = ['user', 'reasoning', 'message', 'function_call', 'message', 'function_call'];
    const grouped = ['user', 'reasoning', 'message', 'message', 'function_call', 'function_call'];
    const outputs = ['function_call_output', 'function_call_output'];
    assert.deepEqual(seen.slice(1), [
      [...asReceived, ...outputs],
      [...grouped, ...outputs],
      [...grouped, ...outputs],
    ]);
  });
});
