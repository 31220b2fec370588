import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { startSpan } from '../../../src/base/telemetry/spans.ts';
import { ContinuedAnswer } from '../../../src/gateway/answers/continued-answer.ts';
import type { CallContext } from '../../../src/gateway/attempt-context.ts';
import type { AttemptResult } from '../../../src/gateway/attempt-result.ts';
import { CallAccount } from '../../../src/gateway/call-account.ts';
import { withContinuation } from '../../../src/gateway/continuing.ts';
import { AttemptFailure } from '../../../src/upstream/routing/attempt-failure.ts';
import { chunk } from '../../support/provider-scripts.ts';
import { relayContext } from '../../support/relay-context.ts';

const BODY = Buffer.from('{"model":"fast","messages":[{"role":"user","content":"hi"}]}');
const { route, kind, memory } = relayContext(new ServerResponse(new IncomingMessage(new Socket())));
const REFUSED: AttemptResult = {
  is: 'failed',
  failure: new AttemptFailure('no prefill', { kind: 'refused', advice: 'elsewhere' }),
  answer: { status: 400, headers: {}, body: Buffer.from('the last message must be of the user') },
};

function callOf(): CallContext {
  const request = {
    method: 'POST',
    path: '/chat/completions',
    api: 'chat_completions',
    headers: {},
    body: BODY,
    modelAt: { start: 9, end: 15 },
    encoding: 'json',
  } as const;
  return { request, modelName: 'fast', kind, account: new CallAccount(), memory };
}

describe('withContinuation', () => {
  const span = startSpan({ name: 'attempt' });
  const attempt = { route, hasAlternative: false, span, asked() {}, succeeded() {}, failed() {} };
  const lane = { signal: new AbortController().signal, win() {} };

  it('asks a route as usual if no answer has started', async () => {
    const asked: CallContext[] = [];
    const ask = withContinuation(async (call) => {
      asked.push(call);
      return REFUSED;
    }, new ContinuedAnswer());
    assert.equal(await ask(callOf(), attempt, lane), REFUSED);
    assert.deepEqual([asked.length, asked[0]?.request.changes], [1, undefined]);
  });

  it('sends the answer so far, and learns to add a user message if the route refuses an assistant one', async () => {
    const continued = new ContinuedAnswer();
    continued.accept({ ...chunk({ content: 'once upon' }) });
    const sent: string[] = [];
    const ask = withContinuation(async ({ request }) => {
      sent.push((request.changes ?? []).map(({ text }) => text).join());
      return REFUSED;
    }, continued);
    await ask(callOf(), attempt, lane);
    assert.equal(sent.length, 2);
    assert.ok(sent.every((text) => text.includes('{"role":"assistant","content":"once upon"}')));
    assert.deepEqual(
      sent.map((text) => text.includes('"role":"user"')),
      [false, true],
    );
    await ask(callOf(), attempt, lane);
    assert.equal(sent.length, 3, 'it has learned');
  });
});
