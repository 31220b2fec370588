import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { publicId } from '../../../src/base/ids.ts';
import { estimateTokens } from '../../../src/upstream/decoding/estimate.ts';
import type { ChatModel, TurnPart, TurnRequest } from '../../../src/upstream/turn.ts';
import { lookup, lookups, type ResearchScript, runResearch, textOf } from '../../support/research-run.ts';
import { openHarness, question, readAll, runToEnd, testConfig } from '../../support/run-harness.ts';
import { cutTurn, isAnswerTurn } from '../../support/scripted-model.ts';

const words = (n: number, from = 0) => Array.from({ length: n }, (_, i) => `word${from + i} `).join('');

describe('max_output_tokens that the provider ignores', () => {
  const asked: Partial<ResearchScript> = { turns: [{ calls: lookups('a') }], request: { maxOutputTokens: 50 } };

  for (const [name, text] of [
    ['in one delta', [words(5000)]],
    ['in many deltas', [...words(5000).matchAll(/\S+ /g)].map(([word]) => word)],
    ['in Chinese', ['深度研究的结果写在这里，请看每一章的内容。'.repeat(3), words(1000), '深度研究的结果写在这里']],
  ] as const)
    it(`ends the answer ${name}`, async () => {
      const { response, message } = await runResearch({ ...asked, answers: [{ text: [...text] }] });
      assert.equal(response.status, 'completed');
      assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
      assert.ok(
        response.output_text.length > 80 && response.output_text.length < 450,
        `${response.output_text.length}`,
      );
      assert.ok(text.join('').startsWith(response.output_text));
      assert.equal(message?.status, 'completed');
      assert.equal(response.usage.estimated, true, 'the provider had no chance to count');
      assert.ok(response.usage.output_tokens >= 50 + 10);
    });

  it('does not end an answer that keeps to it', async () => {
    for (const text of [
      words(40),
      '这里是深度研究的结果。'.repeat(8),
      `| a | b |\n|${'-'.repeat(400)}|\n${' '.repeat(400)}`,
    ]) {
      const { response } = await runResearch({
        ...asked,
        request: { maxOutputTokens: 100 },
        answers: [{ text: [...text] }],
      });
      assert.equal(response.incomplete_details, null, text.slice(0, 20));
      assert.equal(response.output_text, text);
    }
  });

  it('counts what was written before a cut', async () => {
    const { response } = await runResearch({
      ...asked,
      answers: [{ text: [words(20)], breaks: cutTurn() }, { text: [words(3000, 20)] }],
    });
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.ok(response.output_text.length < 450);
  });

  it('ends and fails a JSON answer that never ends', async () => {
    const { response, asked: requests } = await runResearch({
      turns: [{ calls: lookups('a') }],
      request: { maxOutputTokens: 50, format: { type: 'json_object' } },
      answers: [{ text: ['{"a": "', ...Array.from({ length: 400 }, () => words(100))] }],
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'invalid_output');
    assert.match(response.error?.message ?? '', /cut at 50 tokens/);
    assert.equal(requests.answer.length, 2);
    assert.ok(response.usage.output_tokens < 2000, 'not everything was waited for');
  });
});

describe('an answer that repeats itself', () => {
  it('is ended and marked as stuck if it does so for ever', async () => {
    const passage = 'And so the ferry crosses the bay of Elmsworth again. ';
    const { response } = await runResearch({
      turns: [{ calls: lookups('a') }],
      answers: [{ text: ['The ferry is old [1]. ', passage.repeat(20_000)] }],
    });
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
    assert.ok(response.output_text.length < 3000, `${response.output_text.length}`);
    assert.equal(response.output.at(-1)?.type, 'message');
  });

  it('is complete if it only does so as tables and code do', async () => {
    const text = `${'| n/a | n/a | n/a |\n'.repeat(100)}\n\`\`\`\n${'});\n'.repeat(50)}\`\`\`\n`;
    const { response } = await runResearch({ answers: [{ text: [...text] }] });
    assert.equal(response.output_text, text);
    assert.equal(response.incomplete_details, null);
  });
});

describe('an answer turn without text', () => {
  it('is repeated with an explanation if the model called a tool', async () => {
    const { response, asked } = await runResearch({
      turns: [{ calls: lookups('a') }],
      answers: [{ calls: lookups('b') }, { text: ['Here it is [1].'] }],
    });
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'Here it is [1].');
    assert.equal(response.usage.num_tool_calls, 1);
    assert.match(textOf(asked.answer[1]), /No tools can be called any more/);
    assert.equal(response.usage.total_tokens, 60);
  });

  it('is repeated with room for thoughts if they took its length; the answer keeps its limit', async () => {
    const { response, asked } = await runResearch({
      answers: [{ reasoning: ['I think.'], finish: 'length' }, { text: [words(3000)] }],
      request: { maxOutputTokens: 50 },
    });
    assert.equal(asked.answer[0]?.maxOutputTokens, 50);
    assert.ok((asked.answer[1]?.maxOutputTokens ?? 0) > 1000);
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.ok(response.output_text.length < 450);
  });
});

/** A model that says something in its second turn and then hangs. */
class HangingModel implements ChatModel {
  turns = 0;
  readonly hangs = Promise.withResolvers<void>();

  async *turn(request: TurnRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<TurnPart> {
    const usage = { inputTokens: 1000, cachedTokens: 0, outputTokens: 10, reasoningTokens: 0, estimated: false };
    if (isAnswerTurn(request)) {
      yield { type: 'text', delta: 'What was found [1].' };
      yield { type: 'finish', reason: 'stop', usage, message: { role: 'assistant', content: 'What was found [1].' } };
      return;
    }
    if (this.turns++ === 0) {
      const call = { id: 'call_1', name: 'lookup', arguments: '{"q":"a"}' };
      yield {
        type: 'finish',
        reason: 'tool_calls',
        usage,
        message: { role: 'assistant', content: '', tool_calls: [call] },
      };
      return;
    }
    yield { type: 'reasoning', delta: words(100) };
    this.hangs.resolve();
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
}

describe('the tokens of a turn that the gateway ended', () => {
  it('are in the usage if the time for research was over', async () => {
    const config = testConfig({ research: { budgets: { medium: { minutes: 0.005 } } } });
    await using harness = await openHarness({ chat: new HangingModel(), tools: [lookup()], config });
    const { response } = await runToEnd(harness, question());
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.equal(response.output_text, 'What was found [1].');
    assert.ok(response.usage.output_tokens >= 20 + estimateTokens(words(100)));
    assert.ok(response.usage.input_tokens > 2200, 'the request of that turn was read, too');
    assert.equal(response.usage.estimated, true);
  });

  it('are in the usage if the run was cancelled', async () => {
    const chat = new HangingModel();
    await using harness = await openHarness({ chat, tools: [lookup()] });
    const { run } = await harness.runs.submit(question());
    await chat.hangs.promise;
    await harness.runs.cancel(run);
    await readAll(harness.runs, run);
    const ended = await harness.runs.find(question().caller, 'responses', publicId('responses', run.id));
    const { usage, status } = await harness.runs.response(ended);
    assert.equal(status, 'cancelled');
    assert.ok(usage.output_tokens >= 10 + estimateTokens(words(100)));
    assert.ok(usage.input_tokens > 1200);
  });
});

describe('an answer that runs out of time', () => {
  /** A model that writes this much and then hangs. */
  const stopping = (text: string) => {
    const stopped = Promise.withResolvers<void>();
    const chat: ChatModel = {
      async *turn(_request, { signal }): AsyncGenerator<TurnPart> {
        if (text !== '') yield { type: 'text', delta: text };
        stopped.resolve();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    return { chat, stopped: stopped.promise };
  };

  const runOutOfTime = async (text: string) => {
    const { chat, stopped } = stopping(text);
    await using harness = await openHarness({ chat });
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { run } = await harness.runs.submit(question());
      await stopped;
      mock.timers.tick(20 * 60_000);
      mock.timers.reset();
      await readAll(harness.runs, run);
      const ended = await harness.runs.find(question().caller, 'responses', publicId('responses', run.id));
      return await harness.runs.response(ended);
    } finally {
      mock.timers.reset();
    }
  };

  it('completes with what was written, marked as budget', async () => {
    const response = await runOutOfTime('Half of the answer');
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.equal(response.output_text, 'Half of the answer');
    assert.ok(response.usage.input_tokens > 100 && response.usage.output_tokens > 3);
    assert.equal(response.usage.estimated, true);
  });

  it('fails if nothing was written', async () => {
    const response = await runOutOfTime('');
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_timeout');
  });
});
