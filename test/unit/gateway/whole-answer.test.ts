import assert from 'node:assert/strict';
import { FairSemaphore } from '../../../src/base/fair-semaphore.ts';
import { judgeJson, WholeAnswer } from '../../../src/gateway/answers/whole-answer.ts';
import type { AttemptResult, ResultReceiver } from '../../../src/gateway/attempt-result.ts';
import { AttemptFailure, brokenStream } from '../../../src/upstream/provider-answer.ts';

const KB = 1024;
const MB = 1024 * KB;

/** A `WholeAnswer` with `budget` bytes of shared memory, and what became of it. */
function open({ status = 200, budget = 0, relay = true }: { status?: number; budget?: number; relay?: boolean } = {}) {
  const relayed: Buffer[] = [];
  const seen: { started: number; finished?: AttemptResult; ended?: string } = { started: 0 };
  const relaying: ResultReceiver = {
    data: (chunk) => void relayed.push(Buffer.from(chunk)),
    end: () => {
      seen.ended = 'end';
      return { is: 'delivered', usage: null };
    },
    broken: (failure) => {
      seen.ended = 'broken';
      return { is: 'delivered', usage: null, failure };
    },
  };
  const memory = new FairSemaphore({ name: 'test', permits: budget, fullError: () => new Error('full') });
  const account = memory.open('');
  const answer = new WholeAnswer(
    { status, headers: {} },
    {
      started: () => void seen.started++,
      finish: (result) => {
        seen.finished = result;
      },
      pause: () => {},
      resume: () => {},
      soon: () => {},
    },
    {
      judge: (whole) => judgeJson(whole, 'chat_completions'),
      memory: account,
      meter: { countBytes: () => {}, setDelivered: () => {}, countWholeText: () => {} },
      ...(relay ? { relay: () => relaying } : {}),
    },
  );
  return { answer, seen, account, relayed: () => Buffer.concat(relayed) };
}

function document(bytes: number): Buffer {
  return Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes - 11) }));
}

function feed(answer: ResultReceiver, bytes: Buffer, step: number): void {
  for (let at = 0; at < bytes.length; at += step) answer.data(bytes.subarray(at, at + step));
}

describe('WholeAnswer', () => {
  it('is judged once it is complete, and takes no shared memory up to 256 KiB', () => {
    const { answer, seen, account } = open();
    const bytes = document(256 * KB);
    assert.equal(bytes.length, 256 * KB);
    feed(answer, bytes, 10_000);
    const result = answer.end();
    assert.ok(result.is === 'answered' && result.answer.body.equals(bytes));
    assert.equal(seen.started, 1);
    assert.equal(account.permits, 0);
  });

  it('takes shared memory for what exceeds 256 KiB', () => {
    const { answer, account } = open({ budget: 2 * MB });
    const bytes = document(MB);
    feed(answer, bytes, 10_000);
    assert.equal(account.permits, 768 * KB);
    const result = answer.end();
    assert.ok(result.is === 'answered' && result.answer.body.equals(bytes));
  });

  it('is relayed byte for byte if memory runs out, up to its end or its break', () => {
    const { answer, relayed, seen } = open({ budget: 256 * KB });
    const bytes = document(2 * MB);
    feed(answer, bytes, 10_000);
    assert.equal(answer.end().is, 'delivered');
    assert.ok(relayed().equals(bytes));
    assert.equal(seen.ended, 'end');
    const other = open();
    feed(other.answer, bytes, 100_000);
    assert.equal(other.answer.broken(brokenStream('cut')).is, 'delivered');
    assert.equal(other.seen.ended, 'broken');
  });

  it('fails if memory runs out and it cannot be relayed', () => {
    const { answer, seen } = open({ relay: false });
    feed(answer, document(MB), 100_000);
    assert.equal(seen.finished?.is, 'failed');
  });

  it('is not relayed if it is no JSON, such as events that nobody asked for', () => {
    const events = `data: {"choices":[{"delta":{"content":"${'x'.repeat(1000)}"}}]}\n\n`;
    for (const [text, isRelayed] of [
      [events.repeat(500), false],
      [`<html>${' '.repeat(MB)}`, false],
      [`${' '.repeat(1000)}${document(MB)}`, true],
      [`\ufeff${document(MB)}`, true],
    ] as const) {
      const { answer, seen, relayed } = open();
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length && !seen.finished; at += 10_000) answer.data(bytes.subarray(at, at + 10_000));
      assert.equal(seen.finished?.is, isRelayed ? undefined : 'failed', text.slice(0, 20));
      assert.equal(relayed().length, isRelayed ? bytes.length : 0);
    }
  });

  it('is limited to 32 MiB, and an error to 1 MiB', () => {
    for (const { status, limit } of [
      { status: 200, limit: 32 * MB },
      { status: 500, limit: MB },
    ]) {
      const { answer, seen } = open({ status, budget: 64 * MB });
      feed(answer, Buffer.alloc(limit, 0x20), MB / 2);
      assert.ok(!seen.finished, `${status}: the limit itself`);
      answer.data(Buffer.from(' '));
      assert.match(JSON.stringify(seen.finished), /"is":"failed"/, `${status}: a byte more`);
    }
  });

  it('accepts a complete document whose end timed out, and nothing else that broke', () => {
    const timeout = new AttemptFailure('silent', { kind: 'timeout', advice: 'again' });
    const whole = open();
    whole.answer.data(document(100));
    assert.equal(whole.answer.broken(timeout).is, 'answered');
    for (const { bytes, failure, status } of [
      { bytes: document(100), failure: brokenStream('cut'), status: 200 },
      { bytes: document(100).subarray(0, 50), failure: timeout, status: 200 },
      { bytes: Buffer.alloc(0), failure: timeout, status: 200 },
      { bytes: document(100), failure: timeout, status: 500 },
    ]) {
      const { answer } = open({ status });
      if (bytes.length > 0) answer.data(bytes);
      const result = answer.broken(failure);
      assert.ok(result.is === 'failed' && result.failure === failure, `${bytes.length} bytes, ${status}`);
    }
  });
});
