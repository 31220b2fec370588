import assert from 'node:assert/strict';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import type { ChatModel, TurnPart, TurnRequest } from '../../../src/upstream/turn.ts';
import { until } from '../../support/http-gateway.ts';
import { lookup, lookups, runResearch } from '../../support/research-run.ts';
import { openHarness, question, readAll, testConfig } from '../../support/run-harness.ts';
import { isAnswerTurn } from '../../support/scripted-model.ts';
import { memoryStore } from '../../support/wrapped-store.ts';

/** A report of twelve sections, about 1 000 tokens each, that cites three sources. */
const SECTIONS = Array.from({ length: 12 }, (_, n) => {
  const lines = Array.from(
    { length: 75 },
    (_, i) => `Line ${i} of section ${n} says that ${n * 75 + i} things hold [${(i % 3) + 1}].`,
  );
  return `## Section ${n}\n\n${lines.join(' ')}`;
});
const REPORT = SECTIONS.join('\n\n');
const PART_TOKENS = 2000;
const CHARACTERS_OF_TOKEN = 4;

/** Writes the report, but at most 2 000 tokens at a time, and hangs within part `hangAt`. */
class Stopping implements ChatModel {
  readonly asked: TurnRequest[] = [];
  parts = 0;
  hangAt: number | undefined;
  hung = false;

  async *turn(request: TurnRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<TurnPart> {
    const usage = { inputTokens: 100, cachedTokens: 0, outputTokens: 10, reasoningTokens: 0, estimated: false };
    if (!isAnswerTurn(request)) {
      const known = request.messages.some(({ role }) => role === 'tool');
      const calls = known
        ? []
        : lookups('a', 'b', 'c').map((call, i) => ({
            id: `c${i}`,
            name: call.name,
            arguments: JSON.stringify(call.arguments),
          }));
      for (const call of calls) yield { type: 'tool_call', call };
      const message = {
        role: 'assistant' as const,
        content: known ? 'Ready.' : '',
        ...(known ? {} : { tool_calls: calls }),
      };
      yield { type: 'finish', reason: known ? 'stop' : 'tool_calls', usage, message };
      return;
    }
    this.asked.push(request);
    const before = request.messages.findLast(({ role }) => role === 'assistant')?.content;
    const soFar = request.messages.length > 5 && typeof before === 'string' && REPORT.startsWith(before) ? before : '';
    const limit = Math.min(PART_TOKENS, request.maxOutputTokens ?? PART_TOKENS) * CHARACTERS_OF_TOKEN;
    const part = REPORT.slice(soFar.length, soFar.length + limit);
    const n = this.parts++;
    for (let at = 0; at < part.length; at += 500) {
      if (n === this.hangAt && at > part.length / 2) {
        this.hung = true;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }
      yield { type: 'text', delta: part.slice(at, at + 500) };
    }
    const whole = soFar.length + part.length === REPORT.length;
    const outputTokens = Math.ceil(part.length / CHARACTERS_OF_TOKEN);
    yield {
      type: 'finish',
      reason: whole ? 'stop' : 'length',
      usage: { ...usage, outputTokens },
      message: { role: 'assistant', content: part },
    };
  }
}

function assertWhole(response: ReturnType<typeof responseIn>): void {
  assert.equal(response.output_text, REPORT);
  assert.equal(response.incomplete_details, null);
  const messages = response.output.filter((item) => item.type === 'message');
  assert.equal(messages.length, 1);
  const annotations = answerPart(messages[0])?.annotations ?? [];
  assert.equal(annotations.length, 12 * 75);
  for (const { start_index, end_index, index } of annotations) {
    assert.equal(response.output_text.slice(start_index, end_index), `[${index}]`);
  }
}

function responseIn(bytes: Uint8Array) {
  const last = decodeFrames(bytes).at(-1);
  assert.ok(last?.type === 'response.completed', JSON.stringify(last));
  return last.response;
}

describe('a report whose provider stops every answer at 2 000 tokens', () => {
  const config = testConfig({ model: { max_completion_tokens: 32_000 } });

  it('is one complete text with correct ranges', async () => {
    const chat = new Stopping();
    await using harness = await openHarness({ chat, tools: [lookup()], config });
    const { run } = await harness.runs.submit(question());
    const response = responseIn(await readAll(harness.runs, run));
    assertWhole(response);
    assert.equal(chat.asked.length, Math.ceil(REPORT.length / CHARACTERS_OF_TOKEN / PART_TOKENS));
    for (const [index, { messages }] of chat.asked.entries()) {
      const before = chat.asked[index - 1]?.messages ?? [];
      assert.deepEqual(messages.slice(0, Math.max(0, before.length - 2)), before.slice(0, -2), 'the prefix stays');
    }
  });

  it('is complete even if an instance dies within each part', async () => {
    const store = await memoryStore();
    const chat = new Stopping();
    let submitted = '';
    let deaths = 0;
    for (;;) {
      // Each instance writes the rest of a part and dies within the next one.
      chat.hangAt = chat.parts + Math.min(1, deaths);
      chat.hung = false;
      await using harness = await openHarness({ chat, tools: [lookup()], config, store });
      if (deaths === 0) submitted = (await harness.runs.submit(question())).run.id;
      const ended = await until(async () => {
        const run = await store.get(submitted);
        return chat.hung || run?.status === 'completed' ? { run: chat.hung ? undefined : run } : undefined;
      });
      if (ended.run) {
        assertWhole(responseIn(await readAll(harness.runs, ended.run)));
        break;
      }
      deaths++;
      await harness.executor.stop({ graceMs: 0 });
    }
    assert.ok(deaths >= 4, `${deaths} instances died`);
    await store.close();
  });

  it('ends at the max_output_tokens of its request', async () => {
    const chat = new Stopping();
    await using harness = await openHarness({ chat, tools: [lookup()], config });
    const { run } = await harness.runs.submit(question({ research: { maxOutputTokens: 5000 } }));
    const response = responseIn(await readAll(harness.runs, run));
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(response.output_text, REPORT.slice(0, 5000 * CHARACTERS_OF_TOKEN));
    assert.deepEqual(
      chat.asked.map(({ maxOutputTokens }) => maxOutputTokens),
      [5000, 3000, 1000],
    );
  });

  it('ends at its token budget', async () => {
    const budgets = { medium: { tokens: 5000 } };
    const narrow = testConfig({ model: { max_completion_tokens: 32_000 }, research: { budgets } });
    const chat = new Stopping();
    await using harness = await openHarness({ chat, tools: [lookup()], config: narrow });
    const { run } = await harness.runs.submit(question());
    const response = responseIn(await readAll(harness.runs, run));
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.ok(response.usage.total_tokens < 7500, JSON.stringify(response.usage));
  });
});

const AGAIN =
  'A beginning that is said once more, and then again, word for word, whatever it is asked, without a further one.';

describe('an answer that is stopped at its length and gets no further', () => {
  it('is marked max_output_tokens', async () => {
    const { response, asked } = await runResearch({
      answers: [{ text: [AGAIN], finish: 'length' }],
    });
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(response.output_text, AGAIN);
    assert.equal(asked.answer.length, 2);
  });
});

describe('a structured answer that its provider stops at its length', () => {
  const value = { items: Array.from({ length: 40 }, (_, n) => `the item of number ${n}`) };
  const json = JSON.stringify(value);
  const part = (from: number, to: number, finish: 'length' | 'stop') => ({ text: [json.slice(from, to)], finish });

  it('is one complete JSON value', async () => {
    const { response, asked } = await runResearch({
      answers: [part(0, 400, 'length'), part(400, 800, 'length'), part(800, json.length, 'stop')],
      request: { format: { type: 'json_object' } },
    });
    assert.equal(response.status, 'completed');
    assert.deepEqual(JSON.parse(response.output_text), value);
    assert.equal(asked.answer.length, 3);
    assert.equal(asked.answer[2]?.messages.at(-2)?.content, json.slice(0, 800));
  });
});
