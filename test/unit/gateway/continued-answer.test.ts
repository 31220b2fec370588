import assert from 'node:assert/strict';
import { isObject, type JsonObject } from '../../../src/base/json.ts';
import { ContinuedAnswer } from '../../../src/gateway/answers/continued-answer.ts';

const chunk = (id: string, delta: JsonObject, finish: string | null = null): JsonObject => ({
  id,
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** What a client reads of the chunks: its deltas, without their envelopes. */
function deltas(chunks: readonly JsonObject[]): unknown[] {
  return chunks.map(({ choices }) => {
    const [choice] = Array.isArray(choices) ? choices : [];
    return isObject(choice) ? choice.delta : undefined;
  });
}

/** Feeds the chunks of one route. */
function feed(answer: ContinuedAnswer, chunks: readonly JsonObject[]): JsonObject[] {
  return chunks.flatMap((each) => answer.accept(each));
}

describe('an answer written by several routes', () => {
  it('has one id, one role, and only the reasoning of the first route', () => {
    const answer = new ContinuedAnswer();
    const first = feed(answer, [
      chunk('a', { role: 'assistant' }),
      chunk('a', { reasoning_content: 'I think' }),
      chunk('a', { content: 'One two three four five six ' }),
    ]);
    assert.deepEqual(deltas(first), [
      { role: 'assistant' },
      { reasoning_content: 'I think' },
      { content: 'One two three four five six ' },
    ]);
    answer.startRoute();
    const second = feed(answer, [
      chunk('b', { role: 'assistant' }),
      chunk('b', { reasoning_content: 'I think again', reasoning: 'and again' }),
      chunk('b', { content: 'seven eight nine ten eleven twelve.' }),
      chunk('b', {}, 'stop'),
    ]);
    assert.ok(!JSON.stringify(second).includes('again'));
    assert.ok(!JSON.stringify(deltas(second)).includes('role'));
    assert.equal(
      deltas(second)
        .map((delta) => (delta as { content?: string }).content ?? '')
        .join(''),
      'seven eight nine ten eleven twelve.',
    );
    for (const { id } of [...first, ...second]) assert.equal(id, 'a', 'one id');
  });

  it('has what a route said beside a call that it did not finish', () => {
    const answer = new ContinuedAnswer();
    const begun = [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a' } }];
    const first = feed(answer, [chunk('a', { role: 'assistant', content: 'One two three ', tool_calls: begun })]);
    assert.deepEqual(deltas(first), [{ role: 'assistant', content: 'One two three ' }]);
    answer.startRoute();
    const second = feed(answer, [chunk('b', { role: 'assistant', content: 'four.' }), chunk('b', {}, 'stop')]);
    assert.deepEqual(deltas(second), [{ content: 'four.' }]);
  });

  it('is not held back for calls that are none', () => {
    const fields: JsonObject[] = [{ tool_calls: null }, { tool_calls: [] }, { function_call: null }];
    for (const none of fields) {
      const answer = new ContinuedAnswer();
      const words = { content: 'One two three ', ...none };
      assert.deepEqual(deltas(feed(answer, [chunk('a', words), chunk('a', none, 'stop')])), [words, none]);
    }
  });

  it('may have content in parts, which a later route continues as text', () => {
    const answer = new ContinuedAnswer();
    const thought = { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'I think' }] }] };
    const words = { content: [{ type: 'text', text: 'One two three four five six ' }] };
    assert.deepEqual(deltas(feed(answer, [chunk('a', thought), chunk('a', words)])), [thought, words]);
    assert.match(JSON.stringify(answer.changes(Buffer.from('{"messages":[]}'), { endsWithUser: false })), /five six/);
    answer.startRoute();
    const parts = { content: [{ type: 'text', text: 'three four five six seven.' }] };
    const second = feed(answer, [chunk('b', thought), chunk('b', parts), chunk('b', {}, 'stop')]);
    assert.deepEqual(deltas(second), [{ content: 'seven.' }]);
  });

  it('has the reasoning of a later route if the first one sent none and no text', () => {
    const answer = new ContinuedAnswer();
    feed(answer, [chunk('a', { role: 'assistant' })]);
    answer.startRoute();
    const second = feed(answer, [chunk('b', { reasoning: 'Only now' })]);
    assert.deepEqual(deltas(second), [{ reasoning: 'Only now' }]);
  });

  it('holds tool calls back until they are complete, and drops those of a route that failed', () => {
    const call = (text: string) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] });
    const answer = new ContinuedAnswer();
    assert.deepEqual(feed(answer, [chunk('a', { role: 'assistant' }), chunk('a', call('{"q":'))]).length, 1);
    answer.startRoute();
    const second = feed(answer, [chunk('b', call('{"q":')), chunk('b', call('1}')), chunk('b', {}, 'tool_calls')]);
    assert.deepEqual(deltas(second), [call('{"q":'), call('1}'), {}]);
    const whole = new ContinuedAnswer();
    assert.deepEqual(deltas(feed(whole, [chunk('a', call('{}'), 'tool_calls')])), [call('{}')]);
  });

  it('holds no more than a megabyte of calls back, and cannot be continued then', () => {
    const call = { tool_calls: [{ index: 0, function: { arguments: 'x'.repeat(1000) } }] };
    const answer = new ContinuedAnswer();
    let sent = 0;
    let given = 0;
    while (sent === 0 && given < 2000) {
      assert.ok(answer.canContinue);
      given++;
      sent += answer.accept(chunk('a', call)).length;
    }
    assert.ok(given > 900 && given < 1100, `${given} deltas of a thousand characters`);
    assert.deepEqual([sent, answer.canContinue], [given, false]);
    assert.deepEqual(deltas(feed(answer, [chunk('a', call), chunk('a', {}, 'tool_calls')])), [call, {}]);
  });

  it('relays chunks without a choice, such as usage, under its own id', () => {
    const answer = new ContinuedAnswer();
    feed(answer, [chunk('a', { content: 'text' })]);
    answer.startRoute();
    const [usage] = answer.accept({ id: 'b', choices: [], usage: { total_tokens: 3 } });
    assert.equal(usage?.id, 'a');
    assert.deepEqual(usage?.usage, { total_tokens: 3 });
  });

  it('is continued with its text as the last assistant message, and a user message if need be', () => {
    const body = Buffer.from('{"messages":[{"role":"user","content":"Count"}],"seed":12345678901234567890}');
    const answer = new ContinuedAnswer();
    assert.deepEqual(answer.changes(body, { endsWithUser: false }), []);
    feed(answer, [chunk('a', { content: 'One "two"' })]);
    for (const endsWithUser of [false, true]) {
      const [change] = answer.changes(body, { endsWithUser });
      assert.ok(change);
      const text = body.toString();
      const asked = JSON.parse(text.slice(0, change.start) + change.text + text.slice(change.end));
      assert.deepEqual(
        asked.messages.map((message: { role: string }) => message.role),
        endsWithUser ? ['user', 'assistant', 'user'] : ['user', 'assistant'],
      );
      assert.equal(asked.messages[1].content, 'One "two"');
    }
  });
});
