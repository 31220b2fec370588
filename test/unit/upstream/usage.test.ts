import assert from 'node:assert/strict';
import { readUsage } from '../../../src/upstream/decoding/usage.ts';
import { startScriptedProvider, turn } from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf } from './chat-harness.ts';

const usage = (completion: number, reasoning: number, total: number) => ({
  prompt_tokens: 50,
  completion_tokens: completion,
  total_tokens: total,
  completion_tokens_details: { reasoning_tokens: reasoning },
});

describe('reasoning in the usage of a provider', () => {
  const cases: [string, object, number, number][] = [
    ['within the completion', usage(100, 40, 150), 100, 40],
    ['beside it, and in the total', usage(77, 582, 709), 659, 582],
    ['beside it, and not in the total', usage(10, 37, 60), 47, 37],
    ['without a total', { prompt_tokens: 50, completion_tokens: 9, reasoning_tokens: 4 }, 9, 4],
  ];
  for (const [name, value, output, reasoning] of cases) {
    it(`is counted once: ${name}`, () => {
      const read = readUsage(value);
      assert.deepEqual([read?.inputTokens, read?.outputTokens, read?.reasoningTokens], [50, output, reasoning]);
    });
  }

  it('is known to stand beside the completion once a count has shown it', async () => {
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

  it('is none where no turn can have so many', () => {
    for (const lie of [1e308, 1e18, Number.MAX_VALUE]) {
      assert.equal(readUsage({ prompt_tokens: lie, completion_tokens: lie, total_tokens: lie }), undefined);
      assert.equal(readUsage({ prompt_tokens: 10, completion_tokens: 5, total_tokens: lie })?.outputTokens, 5);
    }
  });
});
