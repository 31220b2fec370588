import assert from 'node:assert/strict';
import { chatChunk, chatCompletion } from '../../src/protocol/chat.ts';
import type { Runs } from '../../src/runs/runs.ts';
import { assertRefused, open, send } from '../support/http-client.ts';
import { openGateway, type TestGateway, until } from '../support/http-gateway.ts';

const bodyOf = (content: string, fields: object = {}) => ({
  model: 'deep',
  messages: [{ role: 'user', content }],
  ...fields,
});

/** The payloads of a chat stream, without their `data: `. */
function payloadsIn(text: string): string[] {
  return text.split('\n\n').flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice(6)] : []));
}

describe('POST /v1/chat/completions on a research model', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('returns a whole completion without stream', async () => {
    const answer = await send(gateway, 'POST /v1/chat/completions', { body: bodyOf('hello') });
    const completion = chatCompletion.strict().parse(answer.json);
    assert.equal(completion.choices[0]?.message.content, 'You said: hello');
    assert.equal(completion.choices[0]?.finish_reason, 'stop');
  });

  it('streams a role chunk, content, a last chunk with usage and sources, and [DONE]', async () => {
    const answer = await send(gateway, 'POST /v1/chat/completions', { body: bodyOf('hello', { stream: true }) });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const payloads = payloadsIn(answer.text);
    assert.equal(payloads.pop(), '[DONE]');
    const chunks = payloads.map((payload) => chatChunk.strict().parse(JSON.parse(payload)));
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'You said: hello');
    const last = chunks.at(-1);
    assert.equal(last?.choices[0]?.finish_reason, 'stop');
    assert.ok(last?.usage && last.search_results);
  });

  it('answers a run that fails before the first byte with an HTTP error, streamed or not', async () => {
    for (const stream of [true, false]) {
      const answer = await send(gateway, 'POST /v1/chat/completions', { body: bodyOf('fail', { stream }) });
      assertRefused(answer, { status: 502, code: 'upstream_error' });
    }
  });

  it('ends a stream that fails midway with an error chunk and an error frame, without [DONE]', async () => {
    const body = bodyOf('fail late', { stream: true, stream_options: { include_usage: true } });
    const payloads = payloadsIn((await send(gateway, 'POST /v1/chat/completions', { body })).text);
    const last = chatChunk.strict().parse(JSON.parse(payloads.at(-2) ?? ''));
    assert.equal(last.choices[0]?.finish_reason, 'error');
    assert.equal(last.error?.code, 'upstream_error');
    assert.deepEqual(JSON.parse(payloads.at(-1) ?? ''), { error: last.error });
  });

  it('stream_options.include_usage: sends usage in a last chunk without choices', async () => {
    const body = bodyOf('hello', { stream: true, stream_options: { include_usage: true } });
    const answer = await send(gateway, 'POST /v1/chat/completions', { body });
    assert.equal(answer.headers.get('x-ignored-parameters'), null);
    const payloads = payloadsIn(answer.text);
    assert.equal(payloads.pop(), '[DONE]');
    const chunks = payloads.map((payload) => chatChunk.strict().parse(JSON.parse(payload)));
    const usage = chunks.pop();
    assert.deepEqual(usage?.choices, []);
    assert.equal(usage?.usage?.total_tokens, 100);
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop');
    assert.ok(
      chunks.every((chunk) => chunk.usage === null),
      'as in OpenAI API',
    );
  });

  it('accepts other OpenAI parameters and lists the ignored ones in x-ignored-parameters', async () => {
    const fields = { frequency_penalty: 0, logprobs: false, max_tokens: 100, temperature: 0.5, user: 'u', n: 1 };
    const answer = await send(gateway, 'POST /v1/chat/completions', { body: bodyOf('hello', fields) });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-ignored-parameters'), 'frequency_penalty, logprobs, user');
  });

  it('names a field of a function in x-ignored-parameters only where it has no effect', async () => {
    const weather = { name: 'weather', description: 'Of a city', parameters: { type: 'object' }, strict: true };
    for (const [tool, ignored] of [
      [{ type: 'function', function: weather }, null],
      [{ function: { name: 'weather' } }, null],
      [
        { type: 'function', cache: 1, function: { ...weather, examples: [], note: null } },
        'tools[0].cache, tools[0].function.examples',
      ],
    ] as const) {
      const answer = await send(gateway, 'POST /v1/chat/completions', { body: bodyOf('hello', { tools: [tool] }) });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('x-ignored-parameters'), ignored);
    }
  });

  for (const stream of [true, false]) {
    it(`cancels the run when the client disconnects (stream: ${stream})`, async () => {
      const cancelled: string[] = [];
      const wrapRuns = (runs: Runs) => watchCancel(runs, cancelled);
      await using own = await openGateway({ wrapRuns });
      const leave = new AbortController();
      const request = open(own, 'POST /v1/chat/completions', {
        body: bodyOf('wait', { stream }),
        signal: leave.signal,
      });
      request.catch(() => {});
      await until(async () => ((await own.runs.countOpen()).inProgress === 1 ? true : undefined));
      leave.abort();
      await until(async () => ((await own.runs.countOpen()).inProgress === 0 ? true : undefined));
      await until(() => cancelled.length > 0 || undefined);
      assert.deepEqual(cancelled, ['cancelled']);
      const line = await until(() => own.lines.find(({ route }) => route === '/v1/chat/completions'));
      assert.equal(line.left, true);
      assert.equal(line.error, undefined);
      assert.equal(
        own.lines.filter(({ level }) => Number(level) >= 40).length,
        0,
        'a disconnect is not logged as a failure',
      );
    });
  }

  it('cancels the run of a client that disconnected while it was being stored', async () => {
    const cancelled: string[] = [];
    const leave = new AbortController();
    const wrapRuns = (runs: Runs): Runs => {
      const watched = watchCancel(runs, cancelled);
      watched.submit = async (submission) => {
        const submitted = await runs.submit(submission);
        leave.abort();
        await until(() => (own.lines.length > 0 ? true : undefined));
        return submitted;
      };
      return watched;
    };
    await using own: TestGateway = await openGateway({ wrapRuns });
    await assert.rejects(open(own, 'POST /v1/chat/completions', { body: bodyOf('wait'), signal: leave.signal }));
    await until(() => (cancelled.length > 0 ? true : undefined));
  });
});

/** Records the final status of every run that is cancelled. */
function watchCancel(runs: Runs, cancelled: string[]): Runs {
  const watched: Runs = Object.create(runs);
  for (const name of ['submit', 'find', 'follow', 'waitForEnd', 'countOpen'] as const) {
    Object.defineProperty(watched, name, { value: runs[name].bind(runs), writable: true });
  }
  watched.cancel = async (run) => {
    const response = await runs.cancel(run);
    cancelled.push(response.status);
    return response;
  };
  return watched;
}
