import assert from 'node:assert/strict';
import { messagesOf } from '../../../src/research/context/segment.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { createFence } from '../../../src/research/text/fence.ts';
import { noUsage } from '../../../src/upstream/turn.ts';

describe('the images of a result', () => {
  it('follow the results of its turn, and are no longer sent once it is shortened', () => {
    const calls = [0, 1].map((call) => ({ id: `c${call}`, name: 'look', arguments: '{}', call }));
    const message = { role: 'assistant' as const, content: '' };
    const state = ResearchState.of([
      { t: 'turn', message, usage: noUsage(), calls, cut: false, invented: false, estimate: 0, elapsedMs: 0 },
      ...calls.map(({ call }) => ({
        ...{ t: 'result' as const, call, status: 'completed' as const, queries: 0, sources: [] },
        ...{ result: '{}', images: [`data:image/png;base64,${call}`] },
      })),
    ]);
    const [entry] = state.entries;
    assert.ok(entry?.t === 'turn');
    const sent = (shortened: Record<number, string>) => {
      const context = { state, fence: createFence('abcdefghijkl'), whole: new Set<number>(), shortened };
      return messagesOf({ entry, rebased: false }, context).map(({ role, content }) => [role, JSON.stringify(content)]);
    };
    const whole = sent({});
    assert.deepEqual(
      whole.map(([role]) => role),
      ['assistant', 'tool', 'tool', 'user', 'user'],
    );
    assert.match(whole[3]?.[1] ?? '', /Images of the result of look:.*base64,0/);
    const rest = sent({ 0: '{}' });
    assert.deepEqual(
      rest.map(([role]) => role),
      ['assistant', 'tool', 'tool', 'user'],
    );
    assert.match(rest[3]?.[1] ?? '', /base64,1/);
  });
});
