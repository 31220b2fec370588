import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { resumeFromThread } from '../../../src/http/submission/function-outputs.ts';
import { plainMessages } from '../../../src/http/submission/plain-messages.ts';
import type { PriorCall, PriorOutput } from '../../../src/protocol/requests/foreign-items.ts';
import type { InputItem } from '../../../src/protocol/requests/request-input.ts';
import { growsTooFast, isSlow } from '../../support/fair-time.ts';

const CALLS = 10_000;
/** Linear work takes a sixth of it; going through all calls for each output takes more than twice as long. */
const LIMIT_MS = 200;
const ROUNDS = 3;

describe('a turn of ten thousand calls', () => {
  const numbers = Array.from({ length: CALLS }, (_, n) => n);
  const calls = numbers.map(
    (n): PriorCall => ({
      type: 'prior_call',
      name: 'look',
      arguments: '{}',
      callId: `call_${n}`,
      itemId: `fc_${n}`,
    }),
  );
  const output = (names: Pick<PriorOutput, 'callId' | 'itemId'>): PriorOutput => ({
    type: 'prior_output',
    output: 'seen',
    ...names,
  });

  for (const [what, outputs] of [
    ['call ids', numbers.map((n) => output({ callId: `call_${n}` }))],
    ['item ids', numbers.map((n) => output({ callId: undefined, itemId: `fc_${n}` }))],
  ] as const) {
    it(`is read in linear time if its outputs name ${what}`, async () => {
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < ROUNDS; round++) best = Math.min(best, await readingMs([...calls, ...outputs]));
      assert.equal(isSlow(best, LIMIT_MS), false, `${best} ms`);
    });
  }

  it('is continued in linear time by research that is not stored, each call with its output behind it', () => {
    const thread = calls.flatMap((call): InputItem[] => [call, output({ callId: call.callId })]);
    const look = { name: 'look', description: '', parameters: {} };
    const continueThread = (share: number) => () => resumeFromThread(thread.slice(0, CALLS * 2 * share), [look]);
    assert.equal(continueThread(1)()?.goesOn.entries.length, CALLS * 2);
    assert.equal(growsTooFast(continueThread), false);
  });

  it('lets other work run while it is read', async () => {
    let isRead = false;
    const reading = read(calls.flatMap((call) => [call, output({ callId: call.callId })])).finally(() => {
      isRead = true;
    });
    let turns = 0;
    for (; !isRead; turns++) await setImmediate();
    await reading;
    assert.ok(turns >= CALLS / 200, `${turns} turns of the event loop`);
  });

  const read = (items: readonly InputItem[]) =>
    plainMessages(items, {
      before: [],
      field: 'input',
      model: { vision: false },
      findItem: () => Promise.reject(new Error('it is there')),
      openCompaction: () => Promise.reject(new Error('there is none')),
      openThought: () => Promise.reject(new Error('there is none')),
      attach: () => Promise.resolve([]),
    });

  async function readingMs(items: readonly InputItem[]): Promise<number> {
    const before = process.threadCpuUsage();
    const { messages } = await read(items);
    const { user, system } = process.threadCpuUsage(before);
    const [turn, ...results] = messages;
    assert.equal(turn?.role === 'assistant' && turn.tool_calls?.length, CALLS);
    assert.equal(results.length, CALLS);
    return (user + system) / 1000;
  }
});
