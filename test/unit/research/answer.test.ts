import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/base/json.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import { SearchFailure, type SearchProvider } from '../../../src/tools/web-search/search-provider.ts';
import { createWebSearchTool } from '../../../src/tools/web-search/web-search.ts';
import { TurnError, type TurnFailureKind } from '../../../src/upstream/turn.ts';
import { lookups, runResearch, textOf } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';
import { cutTurn } from '../../support/scripted-model.ts';

const failure = (kind: TurnFailureKind) => new TurnError(kind, `the provider said ${kind}`, { started: false });

describe('the answer of a research run', () => {
  it('is continued in place after a cut: one message, one text, no overlap', async () => {
    const { response, message, asked, events } = await runResearch({
      answers: [
        { text: ['Runs survive because ', 'their log is written first'], breaks: cutTurn() },
        { text: ['log is written first', ', and every reader follows it.'] },
      ],
    });
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'Runs survive because their log is written first, and every reader follows it.');
    assert.equal(message?.status, 'completed');
    assert.equal(response.output.filter((item) => item.type === 'message').length, 1);
    const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    assert.equal(deltas.join(''), response.output_text);
    assert.match(textOf(asked.answer[1]), /Runs survive because their log is written first/);
    assert.match(textOf(asked.answer[1]), /interrupted/);
  });

  it('is not written twice if the model starts it again after a cut', async () => {
    const begun = 'Runs survive because their log is written first';
    const { response } = await runResearch({
      answers: [{ text: [begun], breaks: cutTurn() }, { text: [...`${begun}, and every reader follows it.`] }],
    });
    assert.equal(response.output_text, `${begun}, and every reader follows it.`);
  });

  it('is one text after five cuts', async () => {
    const pieces = Array.from({ length: 6 }, (_, n) => `Part ${n} says: ${`${n}${n} and `.repeat(40)}so on. `);
    const { response, asked } = await runResearch({
      answers: pieces.map((piece, n) => ({ text: [...piece], ...(n < 5 ? { breaks: cutTurn() } : {}) })),
    });
    assert.equal(response.output_text, pieces.join(''));
    assert.equal(asked.answer.length, 6);
  });

  it('fails in the end if it is cut again and again, and keeps what was written', async () => {
    const { response, message, asked } = await runResearch({
      answers: Array.from({ length: 20 }, () => ({ text: ['The same few words. '], breaks: cutTurn() })),
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
    assert.equal(message?.status, 'incomplete');
    assert.equal(answerPart(message)?.text, 'The same few words. ');
    assert.ok(asked.answer.length < 10);
  });

  it('is requested once more if it is empty', async () => {
    const { response, asked } = await runResearch({ answers: [{ text: ['  '] }, { text: ['Here it is.'] }] });
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text.trim(), 'Here it is.');
    assert.equal(asked.answer.length, 2);
  });

  it('opens no message for white space, which would stand before later reasoning', async () => {
    for (const finish of ['stop', 'length'] as const) {
      const { response } = await runResearch({
        turns: [{ calls: lookups('a') }],
        answers: [
          { reasoning: ['Hm.'], text: [' ', '\n\n'], finish },
          { reasoning: ['I see.'], text: ['\n', '\nIt is so [1].'] },
        ],
      });
      assert.equal(response.output_text, 'It is so [1].');
      const types = response.output.map(({ type }) => type);
      assert.deepEqual(types, ['tool_call', 'reasoning', 'reasoning', 'reasoning', 'message']);
    }
  });

  it('fails if it stays empty', async () => {
    const { response, message } = await runResearch({ answers: [{}] });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
    assert.equal(message, undefined);
  });

  it('completes with incomplete_details max_output_tokens if it is cut at its length', async () => {
    const { response, asked } = await runResearch({
      answers: [{ text: ['A long answer that'], finish: 'length' }],
      request: { maxOutputTokens: 50 },
    });
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(response.output_text, 'A long answer that');
    assert.equal(asked.answer[0]?.maxOutputTokens, 50);
  });

  it('names max_output_tokens before any other reason that ended the research', async () => {
    const { response } = await runResearch({
      turns: [{ calls: lookups('a', 'b') }],
      answers: [{ text: ['A long answer that'], finish: 'length' }],
      request: { maxToolCalls: 1 },
    });
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
  });

  it('fails if all of its length went into reasoning', async () => {
    const { response, message } = await runResearch({
      answers: [{ reasoning: ['I think and think'], finish: 'length' }],
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
    assert.equal(message, undefined);
  });

  it("has the model's own maximum length if the request sets none", async () => {
    const { asked } = await runResearch({ config: testConfig({ model: { max_completion_tokens: 777 } }) });
    assert.equal(asked.answer[0]?.maxOutputTokens, 777);
  });

  it('may use only the rest of its length after a cut', async () => {
    const { asked } = await runResearch({
      answers: [{ text: ['word '.repeat(40)], breaks: cutTurn() }, { text: ['the end.'] }],
      request: { maxOutputTokens: 100 },
    });
    const left = asked.answer[1]?.maxOutputTokens ?? 0;
    assert.ok(left > 0 && left < 70, `${left} tokens are left`);
  });

  it("fails if the provider's content filter stops it", async () => {
    const { response, message } = await runResearch({
      answers: [{ text: ['Well, '], finish: 'content_filter' }],
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
    assert.equal(message?.status, 'incomplete');
  });

  it('is preceded by a reasoning item', async () => {
    const { response } = await runResearch({
      answers: [{ reasoning: ['How do I put it?'], text: ['So it is.'] }],
    });
    assert.deepEqual(
      response.output.map((item) =>
        item.type === 'reasoning' ? item.content[0]?.text : item.type === 'message' && answerPart(item)?.text,
      ),
      ['I am ready.', 'How do I put it?', 'So it is.'],
    );
    assert.equal(response.output_text, 'So it is.');
  });

  it('is marked no_sources if nothing was found', async () => {
    const nothing = testTool('lookup', () => ({ result: '{"found":null}' }));
    const { response } = await runResearch({ turns: [{ calls: lookups('a') }], tools: [nothing] });
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'no_sources' });
  });

  it('leaves incomplete_details empty if the model looked nothing up', async () => {
    const { response } = await runResearch({ turns: [{ text: ['That is easy.'] }] });
    assert.equal(response.incomplete_details, null);
  });

  it('is requested with temperature and top_p, and so is the research', async () => {
    const { asked } = await runResearch({ request: { temperature: 0.2, topP: 0.5 } });
    for (const request of [asked.research[0], asked.answer[0]]) {
      assert.equal(request?.temperature, 0.2);
      assert.equal(request?.topP, 0.5);
    }
  });
});

describe('a research turn that is cut', () => {
  it('stays in the output as incomplete, and is requested again', async () => {
    const { response, reasoning, calls, asked } = await runResearch({
      turns: [
        { reasoning: ['I begin to '], breaks: cutTurn() },
        { reasoning: ['I look it up.'], calls: lookups('a') },
      ],
    });
    assert.equal(response.status, 'completed');
    assert.deepEqual(
      reasoning.map((item) => [item.status, item.content[0]?.text]),
      [
        ['incomplete', 'I begin to '],
        ['completed', 'I look it up.'],
        ['completed', 'I am ready.'],
      ],
    );
    assert.equal(calls.length, 1);
    assert.deepEqual(asked.research[1]?.messages, asked.research[0]?.messages, 'nothing of the cut turn is sent');
  });

  it('is not repeated for ever', async () => {
    const { response, asked } = await runResearch({ turns: () => ({ reasoning: ['Again '], breaks: cutTurn() }) });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
    assert.ok(asked.research.length < 10);
  });
});

describe('a run whose turns fail', () => {
  const codes = [
    ['timeout', 'upstream_timeout'],
    ['rate_limit', 'rate_limit_exceeded'],
    ['context_length', 'context_length_exceeded'],
    ['refused', 'upstream_error'],
    ['failed', 'upstream_error'],
  ] as const;
  for (const [kind, code] of codes) {
    it(`ends with ${code} if all turns fail with ${kind}`, async () => {
      const { response, events } = await runResearch({
        turns: () => ({ breaks: failure(kind) }),
        answers: [{ breaks: failure(kind) }],
      });
      assert.equal(events.at(-1)?.type, 'response.failed');
      assert.equal(response.status, 'failed');
      assert.equal(response.error?.code, code);
      assert.match(response.error.message, /the provider said/);
      assert.equal(response.incomplete_details, null);
    });

    it(`ends with ${code} if only the answer fails with ${kind}, and keeps its research`, async () => {
      const { response, calls } = await runResearch({
        turns: [{ calls: lookups('a') }],
        answers: [{ breaks: failure(kind) }],
      });
      assert.equal(response.error?.code, code);
      assert.equal(calls[0]?.status, 'completed');
      assert.ok(response.usage.total_tokens > 0);
    });
  }
});

describe('the usage of a run', () => {
  it('is the sum of all turns', async () => {
    const { response } = await runResearch({ turns: [{ calls: lookups('a', 'b') }, { calls: lookups('c') }] });
    assert.deepEqual(response.usage, {
      input_tokens: 40,
      input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 12 },
      total_tokens: 60,
      num_search_queries: 0,
      num_tool_calls: 3,
    });
  });

  it('includes turns that were cut and requested again, as an estimate', async () => {
    const { response } = await runResearch({
      turns: [{ reasoning: ['I beg'], breaks: cutTurn() }],
      answers: [{ text: ['The answer '], breaks: cutTurn() }, { text: ['is here.'] }],
    });
    assert.equal(response.usage.total_tokens, 60);
    assert.equal(response.usage.estimated, true);
  });

  it('includes the turns of a run that failed', async () => {
    const { response } = await runResearch({
      turns: [{ calls: lookups('a') }, { breaks: failure('failed') }],
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.usage.total_tokens, 15);
    assert.equal(response.usage.num_tool_calls, 1);
  });

  it('counts the search queries that were made, not those that the model wrote', async () => {
    let searched = 0;
    const provider: SearchProvider = {
      name: 'p',
      cacheKey: undefined,
      async search({ text }) {
        searched += 1;
        if (text === 'sharks') throw new SearchFailure('rejected', 'no');
        return { hits: [] };
      },
    };
    const wanted: readonly [JsonObject, number][] = [
      [{ queries: ['cats', 'dogs', 'whales'] }, 3],
      [{ queries: Array.from({ length: 1000 }, (_, n) => `fish ${n % 2}`) }, 2],
      [{ queries: Array.from({ length: 1000 }, (_, n) => `bird ${n}`) }, 8],
      [{ query: 'ants' }, 1],
      [{ queries: ['sharks'] }, 1],
      [{ queries: [] }, 0],
      [{ queries: ['bees'], time_range: 'whenever' }, 0],
    ];
    for (const [args, queries] of wanted) {
      searched = 0;
      const { response } = await runResearch({
        turns: [{ calls: [{ name: 'web_search', arguments: args }] }],
        tools: [createWebSearchTool({ providers: [provider] })],
      });
      assert.deepEqual([response.usage.num_search_queries, searched], [queries, queries], JSON.stringify(args));
      assert.equal(response.usage.num_tool_calls, 1);
    }
  });
});
