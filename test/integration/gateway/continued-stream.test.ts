import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ContinuedAnswer } from '../../../src/gateway/answers/continued-answer.ts';
import type { AttemptResult } from '../../../src/gateway/attempt-result.ts';
import { ContinuedStream } from '../../../src/gateway/streams/continued-stream.ts';
import { chunk } from '../../support/provider-scripts.ts';
import { relayContext } from '../../support/relay-context.ts';

const MB = 1024 * 1024;

/** Feeds a stream with one word and this many megabytes of comments; returns the result if that ended it. */
function endAfter(megabytes: number): AttemptResult | undefined {
  let ended: AttemptResult | undefined;
  const control = {
    pause() {},
    resume() {},
    started() {},
    finish(result: AttemptResult) {
      ended ??= result;
    },
    soon() {},
  };
  const context = relayContext(new ServerResponse(new IncomingMessage(new Socket())));
  const stream = new ContinuedStream({ status: 200, headers: {} }, control, context, new ContinuedAnswer());
  stream.data(Buffer.from(`data: ${JSON.stringify(chunk({ content: 'x' }))}\n\n`));
  const comment = Buffer.from(`: ${'x'.repeat(4 * MB - 4)}\n\n`);
  for (let fed = 0; fed < megabytes && !ended; fed += 4) stream.data(comment);
  return ended;
}

describe('a stream that other routes may continue', () => {
  it('fails once it reaches 256 MB', () => {
    assert.equal(endAfter(252), undefined);
    const ended = endAfter(256);
    assert.ok(ended?.is === 'failed');
    assert.equal(ended.failure.message, 'the answer does not end');
  });
});
