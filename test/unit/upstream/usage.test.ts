import assert from 'node:assert/strict';
import { CallMeter } from '../../../src/upstream/call-meter.ts';
import { readUsage } from '../../../src/upstream/decoding/usage.ts';
import { noUsage, TurnError } from '../../../src/upstream/turn.ts';
import { frames, json, startScriptedProvider, turn } from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf } from './chat-harness.ts';

const usage = (completion: number, reasoning: number, total: number) => ({
  prompt_tokens: 50,
  completion_tokens: completion,
  total_tokens: total,
  completion_tokens_details: { reasoning_tokens: reasoning },
});

describe('the usage of a provider', () => {
  const cases: [string, object, number, number][] = [
    ['within the completion', usage(100, 40, 150), 100, 40],
    ['beside it, and in the total', usage(77, 582, 709), 659, 582],
    ['beside it, and not in the total', usage(10, 37, 60), 47, 37],
    ['without a total', { prompt_tokens: 50, completion_tokens: 9, reasoning_tokens: 4 }, 9, 4],
  ];
  for (const [name, value, output, reasoning] of cases) {
    it(`counts reasoning once: ${name}`, () => {
      const read = readUsage(value);
      assert.deepEqual([read?.inputTokens, read?.outputTokens, read?.reasoningTokens], [50, output, reasoning]);
    });
  }

  it('counts reasoning beside the completion once a count has shown it there', async () => {
    const counts = [usage(100, 40, 150), usage(10, 37, 60), usage(100, 40, 150)];
    await using provider = await startScriptedProvider({
      respond: (_, n) => turn({ text: 'x', usage: counts[n] ?? null }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const outputs: number[] = [];
    for (const _count of counts) outputs.push(finishOf(await ask(model)).usage.outputTokens);
    assert.deepEqual(outputs, [100, 47, 140]);
  });

  const text = 'Half of an answer that is cut off';
  const error = { code: 'server_error', message: 'down' };
  const failed = {
    object: 'response',
    status: 'failed',
    error,
    output: [],
    usage: { input_tokens: 50, output_tokens: 3 },
  };
  const failures = {
    'an error in a chat stream': [
      'chat',
      frames([
        { choices: [{ index: 0, delta: { content: text } }] },
        { error, usage: { prompt_tokens: 50, completion_tokens: 30 } },
      ]),
    ],
    'response.failed': [
      'responses',
      frames([
        { type: 'response.output_text.delta', output_index: 0, delta: text },
        { type: 'response.failed', response: failed },
      ]),
    ],
    'a failed response that was not streamed': ['responses', json(failed)],
  } as const;
  for (const [name, [wire, script]] of Object.entries(failures)) {
    it(`counts as reported with ${name}`, async () => {
      await using provider = await startScriptedProvider({ respond: () => script });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire, max_retries: 0 } }));
      await using _ = upstream;
      await assert.rejects(ask(model), (thrown) => {
        assert.ok(thrown instanceof TurnError);
        const { inputTokens, outputTokens, estimated } = thrown.usage;
        assert.deepEqual([inputTokens, outputTokens, estimated], [50, wire === 'chat' ? 30 : 3, false]);
        return true;
      });
    });
  }

  it('teaches nothing about later counts before it is whole', async () => {
    const early = { choices: [{ index: 0, delta: { content: 'x' } }], usage: usage(1, 3, 51) };
    const whole = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: usage(100, 40, 150) };
    await using provider = await startScriptedProvider({ respond: () => frames([early, whole]) });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    for (let n = 0; n < 2; n++) assert.equal(finishOf(await ask(model)).usage.outputTokens, 100);
  });

  it('derives no output from a total without a prompt count', () => {
    for (const prompt of [{}, { prompt_tokens: 0 }, { prompt_tokens: null }, { prompt_tokens: -5 }]) {
      assert.equal(readUsage({ ...prompt, total_tokens: 870 }), undefined);
      const told = readUsage({ ...prompt, completion_tokens: 270, total_tokens: 870 });
      assert.deepEqual([told?.inputTokens, told?.outputTokens], [0, 270]);
    }
    assert.equal(readUsage({ prompt_tokens: 600, total_tokens: 870 })?.outputTokens, 270);
  });

  it('includes what Anthropic bills beside the turns of the model', () => {
    const count = (input: number, cached: number, output: number) => ({
      input_tokens: input,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: 0,
      output_tokens: output,
    });
    const iterations = [
      { ...count(100, 55_096, 83), type: 'compaction' },
      { ...count(181, 0, 8), type: 'message' },
      { ...count(2518, 0, 22), type: 'advisor_message', model: 'another' },
      { type: 'advisor_message' },
      null,
    ];
    const read = readUsage({ ...count(181, 0, 8), iterations });
    assert.deepEqual([read?.inputTokens, read?.cachedTokens, read?.outputTokens], [57_895, 55_096, 113]);
    assert.equal(readUsage({ ...count(181, 0, 8), iterations: 'many' })?.inputTokens, 181);
  });

  it('ignores counts that no turn can reach', () => {
    for (const lie of [1e308, 1e18, Number.MAX_VALUE]) {
      assert.equal(readUsage({ prompt_tokens: lie, completion_tokens: lie, total_tokens: lie }), undefined);
      assert.equal(readUsage({ prompt_tokens: 10, completion_tokens: 5, total_tokens: lie })?.outputTokens, 5);
    }
  });
});

describe('reported usage', () => {
  const PROMPT = 600;
  const used = (reported: Parameters<CallMeter['reported']>[0], { delivered = 270, answers = 1 } = {}) => {
    const meter = new CallMeter({}, { prompt: () => PROMPT, answers: () => answers });
    meter.sent();
    meter.addDelivered(delivered);
    meter.reported(reported, { whole: true });
    const { inputTokens, outputTokens, reasoningTokens, cachedTokens, estimated } = meter.usage;
    return { tokens: [inputTokens, outputTokens], reasoningTokens, cachedTokens, estimated };
  };
  const told = (inputTokens: number, outputTokens: number, reasoningTokens = 0) => ({
    ...noUsage(),
    inputTokens,
    outputTokens,
    reasoningTokens,
  });

  it('may include reasoning that was never delivered, for each answer', () => {
    assert.deepEqual(used(told(600, 9011, 9000), { delivered: 1 }).tokens, [600, 9011]);
    assert.deepEqual(used(told(600, 200_000, 199_000), { delivered: 1 }).tokens, [600, 200_000]);
    assert.deepEqual(used(told(600, 2_000_000), { delivered: 128, answers: 128 }).tokens, [600, 2_000_000]);
    assert.deepEqual(used(told(600, 2_000_000), { delivered: 300_000 }).tokens, [600, 2_000_000]);
  });

  it('may count more prompt tokens than were sent (earlier turns, pages)', () => {
    assert.deepEqual(used(told(2_000_000, 270)).tokens, [2_000_000, 270]);
  });

  it('may count only a few prompt tokens', () => {
    const short = used(told(1, 270));
    assert.deepEqual([short.tokens, short.estimated], [[1, 270], false]);
  });

  it('is replaced by an estimate if it exceeds what a model can read or write', () => {
    const lie = used({ ...told(99_000_000, 90_000_000, 90_000_000), cachedTokens: 98_000_000 });
    assert.deepEqual(lie, { tokens: [600, 270], reasoningTokens: 270, cachedTokens: 600, estimated: true });
    assert.deepEqual(used(told(600, 2_000_000), { answers: 2 }).tokens, [600, 270]);
  });
});
