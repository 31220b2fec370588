import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { answerPart } from '../../../src/protocol/items.ts';
import { type Tool, ToolError } from '../../../src/tools/tool.ts';
import { lookup, lookups, runResearch, textOf, toolError, toolMessages } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';

const parallel = (calls: number) => testConfig({ research: { budgets: { medium: { parallel_tool_calls: calls } } } });

describe('tool calls of a research run', () => {
  it('start in call order, all at once, and end as they finish', async () => {
    const gates = new Map(['a', 'b', 'c'].map((q) => [q, Promise.withResolvers<void>()]));
    let running = 0;
    const release = async () => {
      for (const name of ['c', 'a', 'b']) {
        await turnOfLoop();
        gates.get(name)?.resolve();
      }
    };
    const gated = testTool('lookup', async ({ q }) => {
      if (++running === 3) void release();
      await gates.get(String(q))?.promise;
      return { result: `{"found":"${q}"}` };
    });
    const { events, calls } = await runResearch({ turns: [{ calls: lookups('a', 'b', 'c') }], tools: [gated] });
    const steps = events.flatMap((event) =>
      event.type === 'response.output_item.added' || event.type === 'response.output_item.done'
        ? event.item.type === 'tool_call'
          ? [`${event.type.split('.').at(-1)} ${JSON.parse(event.item.arguments).q}`]
          : []
        : [],
    );
    assert.deepEqual(steps, ['added a', 'added b', 'added c', 'done c', 'done a', 'done b']);
    assert.deepEqual(
      calls.map((call) => call.result),
      ['{"found":"a"}', '{"found":"b"}', '{"found":"c"}'],
    );
  });

  it('never run more at a time than the budget allows', async () => {
    let running = 0;
    let peak = 0;
    const counting = testTool('lookup', async () => {
      peak = Math.max(peak, ++running);
      for (let i = 0; i < 5; i++) await turnOfLoop();
      running--;
      return { result: '{}' };
    });
    const { calls } = await runResearch({
      turns: [{ calls: lookups('a', 'b', 'c', 'd', 'e', 'f', 'g') }],
      tools: [counting],
      config: parallel(3),
    });
    assert.equal(calls.length, 7);
    assert.equal(peak, 3);
  });

  it('are aborted at their own time limit, and the run continues', async () => {
    const stopped = Promise.withResolvers<unknown>();
    const hanging: Tool = {
      ...testTool('lookup', () => ({ result: '' })),
      timeoutMs: 30,
      call: (_args, { signal }) => {
        signal.addEventListener('abort', () => stopped.resolve(signal.reason));
        return new Promise(() => {});
      },
    };
    const { response, calls, asked } = await runResearch({ turns: [{ calls: lookups('a') }], tools: [hanging] });
    assert.equal((await stopped.promise) instanceof Error, true);
    assert.equal(toolError(calls[0]).code, 'timeout');
    assert.equal(response.status, 'completed');
    assert.equal(response.usage.num_tool_calls, 1);
    assert.match(toolMessages(asked.research[1]).join(), /gave no result within 0\.03 s/);
  });

  it("report a tool's error in its own words, and an unexpected one without its text", async () => {
    const failing = testTool('lookup', ({ q }) => {
      if (q === 'gone') throw new ToolError('not_found', 'There is no such page.');
      throw new Error('secret internals');
    });
    const { response, calls, asked } = await runResearch({
      turns: [{ calls: lookups('gone', 'bug') }],
      tools: [failing],
    });
    assert.deepEqual(toolError(calls[0]), { code: 'not_found', message: 'There is no such page.' });
    assert.equal(toolError(calls[1]).code, 'internal_error');
    assert.equal(response.status, 'completed');
    assert.doesNotMatch(JSON.stringify([response, asked.research[1]]), /secret internals/);
  });

  it('fail when the time for research is over, and say so', async () => {
    const hanging: Tool = {
      ...testTool('lookup', () => ({ result: '' })),
      timeoutMs: 3_600_000,
      call: () => {
        setImmediate(() => mock.timers.tick(20 * 60_000));
        return new Promise(() => {});
      },
    };
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { response, calls } = await runResearch({ turns: [{ calls: lookups('a') }], tools: [hanging] });
      assert.match(toolError(calls[0]).message, /time for research is over/);
      assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    } finally {
      mock.timers.reset();
    }
  });

  it('fail for an unknown tool, naming the known ones', async () => {
    const { response, calls } = await runResearch({
      turns: [{ calls: [{ name: 'google', arguments: { q: 'a' } }] }],
    });
    const error = toolError(calls[0]);
    assert.equal(error.code, 'unknown_tool');
    assert.match(error.message, /google.*lookup/);
    assert.equal(response.status, 'completed');
    assert.equal(response.usage.num_tool_calls, 1);
  });

  it('fail with raw text if their arguments cannot be repaired, and go back to the model as JSON', async () => {
    const { calls, asked } = await runResearch({
      turns: [{ calls: [{ name: 'lookup', arguments: 'look for cats, please' }] }],
    });
    assert.equal(calls[0]?.arguments, '{"raw":"look for cats, please"}');
    assert.equal(toolError(calls[0]).code, 'invalid_arguments');
    const sent = asked.research[1]?.messages.find((message) => message.role === 'assistant');
    assert.ok(sent?.role === 'assistant' && sent.tool_calls);
    for (const call of sent.tool_calls) JSON.parse(call.arguments);
  });

  it('are made with repaired arguments if possible', async () => {
    const { calls } = await runResearch({ turns: [{ calls: [{ name: 'lookup', arguments: '{"q": "cats",' }] }] });
    assert.deepEqual(JSON.parse(calls[0]?.arguments ?? ''), { q: 'cats' });
    assert.equal(calls[0]?.status, 'completed');
  });

  it('are not repeated, and the model is told so', async () => {
    let made = 0;
    const counting = testTool('lookup', () => {
      made++;
      return { result: '{"found":1}' };
    });
    const { calls, asked, response } = await runResearch({
      turns: [
        { calls: [...lookups('Cats'), { name: 'lookup', arguments: '{ "q": " cats " }' }] },
        { calls: lookups('cats') },
      ],
      tools: [counting],
    });
    assert.equal(made, 1);
    assert.equal(calls.length, 1);
    assert.equal(response.usage.num_tool_calls, 1);
    const results = toolMessages(asked.research[2]);
    assert.equal(results.length, 3, 'every call of the model gets a result, providers insist on it');
    assert.match(results[1] ?? '', /twice/);
    assert.match(results[2] ?? '', /before/);
  });

  it('may be repeated after they failed', async () => {
    let made = 0;
    const flaky = testTool('lookup', () => {
      if (++made === 1) throw new ToolError('unavailable', 'Not now.');
      return { result: '{"found":1}' };
    });
    const { calls } = await runResearch({
      turns: [{ calls: lookups('cats') }, { calls: lookups('cats') }],
      tools: [flaky],
    });
    assert.deepEqual(
      calls.map((call) => call.status),
      ['failed', 'completed'],
    );
  });

  it('number sources in the order in which they were found, once per address', async () => {
    const { response } = await runResearch({
      turns: [{ calls: lookups('a') }, { calls: lookups('b') }, { calls: [{ name: 'other', arguments: { q: 'a' } }] }],
      tools: [lookup(), { ...lookup(), name: 'other' }],
      answers: [{ text: ['First [1], second [2], third [3].'] }],
    });
    const message = response.output.at(-1);
    assert.ok(message?.type === 'message');
    assert.deepEqual(
      answerPart(message)?.annotations.map(({ source_id, url, title }) => [source_id, url, title]),
      [
        [1, 'https://pages.example/a', 'On a'],
        [2, 'https://pages.example/b', 'On b'],
      ],
    );
  });

  it('give results of limited size', async () => {
    const huge = testTool('lookup', () => ({ result: 'x'.repeat(2_000_000) }));
    const { calls } = await runResearch({ turns: [{ calls: lookups('a') }], tools: [huge] });
    assert.ok((calls[0]?.result ?? '').length < 200_000);
    assert.equal(JSON.parse(calls[0]?.result ?? '{}').truncated, true);
  });

  it('are offered in research turns and not in the answer turn', async () => {
    const { asked } = await runResearch({ turns: [{ calls: lookups('a') }] });
    for (const request of asked.research)
      assert.deepEqual(
        request.tools?.map((tool) => tool.name),
        ['lookup', 'update_plan'],
      );
    assert.equal(asked.answer.length, 1);
    assert.match(textOf(asked.answer[0]), /All about a/);
  });

  it('are not offered with tool_choice none, which skips the research', async () => {
    const { asked, response, events } = await runResearch({ request: { toolChoice: 'none' } });
    assert.equal(asked.research.length, 0);
    assert.equal(asked.answer.length, 1);
    assert.deepEqual(
      response.output.map((item) => item.type),
      ['message'],
    );
    assert.equal(response.incomplete_details, null, 'a run that was not to look anything up needs no sources');
    assert.equal(events.at(-1)?.type, 'response.completed');
  });

  it('read no address with sources.met_only that only the model has written, wherever its words are repeated', async () => {
    const [page, ...own] = ['page', 'named', 'found', 'printed'].map((word) => `https://${word}.example/?secret=1`);
    assert.ok(page);
    const fetches = (url: string, find = '') => ({ name: 'fetch_url_content', arguments: { url, find } });
    const fetcher = testTool('fetch_url_content', (args) => ({
      result: JSON.stringify({ ...args, content: 'Text.' }),
    }));
    const python = testTool('execute_python', () => ({ result: JSON.stringify({ stdout: own[2] }) }));
    const lookUp = { ...lookup(), call: async () => ({ sources: [], result: () => `See ${page}` }) };
    const { calls } = await runResearch({
      turns: [
        { calls: [...lookups('a'), { name: own[0] ?? '', arguments: {} }, { name: python.name, arguments: {} }] },
        { calls: [fetches(page, own[1])] },
        { calls: own.map((url) => fetches(url)) },
      ],
      tools: [lookUp, fetcher, python],
      request: { sources: { allowedDomains: [], metOnly: true } },
    });
    assert.equal(calls[3]?.status, 'completed');
    assert.deepEqual(
      calls.slice(4).map((call) => toolError(call).code),
      ['not_met', 'not_met', 'not_met'],
    );
  });
});
