import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { PhaseLimit } from '../../../src/gateway/phase-limit.ts';
import { replaceSpans, unstreamed } from '../../../src/gateway/replace-spans.ts';
import { lastReportedTokens } from '../../../src/gateway/reported-usage.ts';
import { SecretMask } from '../../../src/gateway/secret-mask.ts';
import { Tail } from '../../../src/gateway/tail.ts';
import type { PhaseTimeout } from '../../../src/upstream/phase-timer.ts';

describe('replaced spans', () => {
  const change = (text: string) => {
    const body = Buffer.from(text);
    return replaceSpans(body, unstreamed(body)).toString();
  };

  it('turn a stream off wherever it is asked for, and leave the rest as it came', () => {
    assert.equal(
      change('{"stream" : true,"a":[1.0, {"stream":true}],"stream_options":{"include_usage":true},"stream":true }'),
      '{"stream" : false,"a":[1.0, {"stream":true}],"stream_options":null,"stream":false }',
    );
    assert.equal(change('{"model":"m"}'), '{"model":"m"}');
  });
});

describe('reported usage', () => {
  it('is that of the last usage object', () => {
    const usage = (total: number) => `"usage" : {"prompt_tokens":1,"completion_tokens":${total - 1},"x":{"y":1}}`;
    assert.equal(lastReportedTokens(`{${usage(5)}}\n{${usage(9)}, "choices":[]}`), 9);
    assert.equal(lastReportedTokens('{"usage":{"input_tokens":3,"output_tokens":4}}'), 7);
  });

  it('is not what the model writes', () => {
    const content = JSON.stringify({ content: '"usage": {"prompt_tokens": 7, "completion_tokens": 7}' });
    assert.equal(lastReportedTokens(content), null);
    assert.equal(lastReportedTokens('{"usage":null}'), null);
    assert.equal(lastReportedTokens('{"usage":{"prompt'), null);
  });
});

describe('a secret mask', () => {
  const mask = (credential: string | undefined, headers = {}) =>
    new SecretMask({ provider: { config: { headers } }, model: 'm', credential } as never);

  it('blanks credentials at their length', () => {
    const bytes = Buffer.from('a sk-0123456789ab b sk-0123456789ab');
    mask('sk-0123456789ab').apply(bytes);
    assert.equal(bytes.toString(), 'a *************** b ***************');
  });

  it('knows credentials in headers, but not other headers and not short words', () => {
    const headers = { Authorization: 'Token abcdefghijklmnop', 'HTTP-Referer': 'https://example.com/' };
    assert.equal(
      mask('EMPTY', headers).text('EMPTY abcdefghijklmnop https://example.com/'),
      'EMPTY **************** https://example.com/',
    );
  });

  it('knows how much of a chunk may be the start of a credential', () => {
    const found = mask('sk-0123456789ab');
    const cases: [string, number][] = [
      ['hello', 0],
      ['hello s', 1],
      ['hello sk-01', 5],
      ['sk-0123456789ab', 0],
      ['ssk', 2],
    ];
    for (const [text, length] of cases) assert.equal(found.unfinished(Buffer.from(text)), length, text);
    assert.equal(mask(undefined).unfinished(Buffer.from('sk-')), 0);
  });
});

describe('the tail of a stream', () => {
  it('keeps the end, and no more than it needs', () => {
    const tail = new Tail();
    for (let n = 0; n < 1000; n++) tail.push(Buffer.from(`${n}`.padEnd(100)));
    assert.ok(tail.text().length < 17_000 && tail.text().length >= 16_000);
    assert.match(tail.text(), /999 +$/);
    tail.push(Buffer.alloc(100_000, 'x'));
    assert.equal(tail.text().length, 100_000);
  });
});

describe('the limit of a phase', () => {
  it('is told once it is over, with the phase', async () => {
    const { promise, resolve } = Promise.withResolvers<PhaseTimeout>();
    const limit = new PhaseLimit(resolve);
    limit.enter('headers', 60_000);
    limit.enter('idle', 10);
    assert.deepEqual([(await promise).phase, (await promise).ms], ['idle', 10]);
  });

  it('moves with every chunk, and stands while the client is slow', async () => {
    let told = 0;
    const limit = new PhaseLimit(() => {
      told++;
    });
    limit.enter('idle', 60);
    for (let n = 0; n < 8; n++) {
      await delay(15);
      limit.touch('idle');
    }
    limit.pause();
    await delay(120);
    assert.equal(told, 0);
    limit.resume();
    limit.touch('headers');
    await delay(120);
    assert.equal(told, 1);
  });
});
