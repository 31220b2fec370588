import assert from 'node:assert/strict';
import { CallAccount } from '../../../src/gateway/call-account.ts';
import { tokenWeight } from '../../../src/upstream/decoding/estimate.ts';
import { brokenStream } from '../../../src/upstream/routing/attempt-failure.ts';
import { noUsage } from '../../../src/upstream/turn.ts';

describe('output tokens counted for a stream', () => {
  const event = (content: string, more: object = {}) => ({ choices: [{ index: 0, delta: { content } }], ...more });
  const words = (count: number) => 'word '.repeat(count);
  const padded = (content: string) => event(content, { obfuscation: 'x'.repeat(1000) });

  /** Streams in which the share of text changes. */
  const STREAMS: Readonly<Record<string, object[]>> = {
    'a steady pace': Array.from({ length: 2000 }, () => event(words(20))),
    'hardly any text at first': [
      ...Array.from({ length: 60 }, () => padded('a')),
      ...Array.from({ length: 1000 }, () => event(words(30))),
    ],
    'hardly any text at the end': [
      ...Array.from({ length: 1000 }, () => event(words(30))),
      ...Array.from({ length: 1000 }, () => padded('a')),
    ],
    'a long hidden thought in the middle': [
      event(words(30)),
      ...Array.from({ length: 500 }, () => event('', { reasoning_details: [{ data: 'x'.repeat(300) }] })),
      ...Array.from({ length: 1000 }, () => event(words(30))),
    ],
  };
  for (const [how, events] of Object.entries(STREAMS)) {
    it(`are within a tenth of what was delivered: ${how}`, () => {
      const account = new CallAccount();
      const meter = account.attempt({}, { api: 'chat_completions', body: '{}' });
      meter.sent();
      for (const each of events) meter.countEvents(Buffer.from(`data: ${JSON.stringify(each)}\n\n`));
      const text = /"content":"([^"]*)"/g;
      const said = JSON.stringify(events)
        .matchAll(text)
        .reduce((sum, [, content = '']) => sum + tokenWeight(content), 0);
      const { outputTokens } = account.used;
      assert.ok(Math.abs(outputTokens - said) < said / 10, `${outputTokens}, not ${said}`);
    });
  }
});

describe('a response of the Responses API that failed', () => {
  const usage = { ...noUsage(), inputTokens: 50, outputTokens: 3 };
  const failure = brokenStream('the response failed');
  for (const [when, result] of Object.entries({
    'before it began': { is: 'failed', usage, failure },
    midway: { is: 'delivered', usage, failure, midway: false },
  } as const)) {
    it(`counts as its last event reports, also in the background: ${when}`, async () => {
      for (const unseen of [0, 10_000]) {
        const account = new CallAccount({ unseen });
        const meter = account.attempt({}, { api: 'responses', body: '{}' });
        meter.sent();
        meter.addDelivered(8);
        await meter.countResult(Promise.resolve(result));
        assert.deepEqual([account.used.inputTokens, account.used.outputTokens], [50, 3], `${unseen}`);
      }
    });
  }
});
