import assert from 'node:assert/strict';
import { CallAccount } from '../../../src/gateway/call-account.ts';
import { tokenWeight } from '../../../src/upstream/decoding/estimate.ts';

describe('the account of a stream', () => {
  const event = (content: string, more: object = {}) => ({ choices: [{ index: 0, delta: { content } }], ...more });
  const words = (count: number) => 'word '.repeat(count);
  const padded = (content: string) => event(content, { obfuscation: 'x'.repeat(1000) });

  /** Events that change their pace. */
  const STREAMS: Readonly<Record<string, object[]>> = {
    'at one pace': Array.from({ length: 2000 }, () => event(words(20))),
    'with next to no text at its beginning': [
      ...Array.from({ length: 60 }, () => padded('a')),
      ...Array.from({ length: 1000 }, () => event(words(30))),
    ],
    'with next to no text at its end': [
      ...Array.from({ length: 1000 }, () => event(words(30))),
      ...Array.from({ length: 1000 }, () => padded('a')),
    ],
    'that thinks for long and shows nothing of it': [
      event(words(30)),
      ...Array.from({ length: 500 }, () => event('', { reasoning_details: [{ data: 'x'.repeat(300) }] })),
      ...Array.from({ length: 1000 }, () => event(words(30))),
    ],
  };
  for (const [how, events] of Object.entries(STREAMS)) {
    it(`is within a tenth of what was delivered, ${how}`, () => {
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
