import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import type { Plan } from '../../../src/protocol/plan.ts';
import { toReasoningStep } from '../../../src/runs/projections/chat-steps.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { lookups, runResearch } from '../../support/research-run.ts';
import { openHarness, question, readAll, testConfig, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';
import { openStore } from '../../support/wrapped-store.ts';

const plan = (...items: [string, string, string?][]) => ({
  name: 'update_plan',
  arguments: { items: items.map(([text, status, finding]) => ({ text, status, ...(finding && { finding }) })) },
});
const lastMessage = (request: TurnRequest | undefined) => String(request?.messages.at(-1)?.content);
const offered = (request: TurnRequest | undefined) => request?.tools?.map(({ name }) => name) ?? [];
const reminded = (request: TurnRequest) => JSON.stringify(request.messages).includes('are still open');

describe('a plan', () => {
  it('that is proposed as text, as a list or as JSON, is a plan too', async () => {
    const depth = JSON.stringify({ text: 'Depth', status: 'open' });
    for (const [text, ...items] of [
      ['I propose:\n\n1. Depth\n2) **Width** of the bay\n\nShall I?', 'Depth', '**Width** of the bay'],
      ['- Depth\n* Width', 'Depth', 'Width'],
      ['**1. Depth**\nHow deep it is.\n**2.** Width', 'Depth', 'Width'],
      ['### 1) Depth\n(2) Width', 'Depth', 'Width'],
      ['Step 1: Depth\n**Step 2: Width** of the bay', 'Depth', 'Width of the bay'],
      ['1、深度\n2．宽度\n（3）长度', '深度', '宽度', '长度'],
      [`\`\`\`json\n[${depth},\n{"text": "Width"},]\n\`\`\``, 'Depth', 'Width'],
    ]) {
      const { response } = await runResearch({
        turns: [{ text: [text ?? ''] }, { text: ['Done.'] }],
        request: { plan: 'propose' },
      });
      assert.equal(response.output_text, items.map((item, at) => `${at + 1}. ${item}`).join('\n'));
      assert.deepEqual(response.plan, { items: items.map((item) => ({ text: item, status: 'open' })) });
    }
    const { response } = await runResearch({
      turns: () => ({ text: ['**Well.** At 10:30 I am ready:\n2.5 hours.'] }),
      request: { plan: 'propose' },
    });
    assert.equal(response.error?.message, 'The model proposed no plan.');
  });

  it('is an output item, costs no tool call, and is part of the response', async () => {
    const first = plan(['Depth', 'open'], ['Width', 'open']);
    const last = plan(['Depth', 'done', 'ten metres [1]'], ['Width', 'dropped', 'nobody knows']);
    const { response, calls, asked } = await runResearch({
      turns: [{ calls: [first, ...lookups('a')] }, { calls: [last, ...lookups('b')] }],
      request: { maxToolCalls: 2 },
    });
    assert.deepEqual(
      calls.map(({ name, status }) => [name, status]),
      [
        ['update_plan', 'completed'],
        ['lookup', 'completed'],
        ['update_plan', 'completed'],
        ['lookup', 'completed'],
      ],
    );
    assert.equal(calls[0]?.result, '{"ok":true}');
    assert.deepEqual(response.plan, last.arguments);
    assert.equal(response.usage.num_tool_calls, 2);
    assert.equal(response.incomplete_details, null);
    assert.equal(asked.research.length, 3);
  });

  it('is shown at the end of each request, and what precedes it is a prefix of the next request', async () => {
    const { asked } = await runResearch({
      turns: [{ calls: [plan(['Depth', 'open'])] }, { calls: lookups('a') }, { calls: [plan(['Depth', 'done'])] }],
    });
    const [first, second, third, fourth] = asked.research;
    assert.doesNotMatch(lastMessage(first), /Your plan/);
    assert.match(lastMessage(second), /Your plan as you wrote it last:[\s\S]*1\. \[open\] Depth/);
    assert.match(lastMessage(fourth), /1\. \[done\] Depth/);
    assert.equal(JSON.stringify(fourth?.messages).match(/Your plan as you wrote/g)?.length, 1, 'the last one only');
    for (const [before, after] of [
      [second, third],
      [third, fourth],
    ]) {
      const kept = before?.messages.slice(0, -1) ?? [];
      assert.deepEqual(after?.messages.slice(0, kept.length), kept);
      assert.equal(before?.stablePrefix, kept.length);
    }
    assert.match(JSON.stringify(asked.answer[0]?.messages), /1\. \[done\] Depth/);
  });

  it('stays complete when older messages are dropped for room', async () => {
    const words = Array.from({ length: 12 }, (_, n) => `word${n}`);
    const parts = plan(...words.map((word): [string, string] => [`What is ${word}?`, 'done']));
    const { asked } = await runResearch({
      config: testConfig({ model: { context_length: 6000, max_completion_tokens: 800 } }),
      tools: [testTool('lookup', ({ q }) => ({ result: `${q} is told of in many words. `.repeat(60) }))],
      // A provider that counts nothing: the gateway's own estimates hold.
      turns: [[parts], ...words.map((word) => lookups(word))].map((calls) => ({ calls, usage: { estimated: true } })),
    });
    const last = asked.research.at(-1);
    assert.ok(!JSON.stringify(last?.messages.slice(0, -1)).includes('What is word7?'), 'its call was left out');
    for (const word of words) assert.ok(lastMessage(last).includes(`[done] What is ${word}?`), word);
  });

  it('is recalled once before the answer if it has open items', async () => {
    const { asked, response } = await runResearch({
      turns: [{ calls: [plan(['Depth', 'done'], ['Width', 'open'], ['Age', 'doing'])] }, { calls: lookups('a') }],
    });
    assert.deepEqual(asked.research.map(reminded), [false, false, false, true]);
    const reminder = asked.research
      .at(-1)
      ?.messages.map(({ content }) => String(content))
      .find((text) => text.includes('are still open'));
    assert.match(reminder ?? '', /- Width\n- Age/);
    assert.doesNotMatch(reminder ?? '', /Depth/);
    assert.equal(response.status, 'completed');
  });

  it('lets a reminded model continue to search', async () => {
    const { asked, calls } = await runResearch({
      turns: (request, n) => {
        if (n === 0) return { calls: [plan(['Width', 'open'])] };
        if (reminded(request) && n === 2) return { calls: [...lookups('width'), plan(['Width', 'done'])] };
        return { text: ['ready'] };
      },
    });
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['update_plan', 'lookup', 'update_plan'],
    );
    assert.equal(asked.research.length, 4);
  });

  it('is not demanded of a model that never calls it', async () => {
    const { asked, response } = await runResearch({ turns: [{ calls: lookups('a') }] });
    assert.deepEqual(offered(asked.research[0]), ['lookup', 'update_plan']);
    assert.ok(!asked.research.some(reminded));
    assert.equal(response.plan, null);
  });

  for (const [what, request] of [
    ['little effort', { effort: 'low' }],
    ['plan: off', { plan: 'off' }],
    ['no tools', { toolChoice: 'none' }],
  ] as const) {
    it(`is not offered with ${what}`, async () => {
      const { chat } = await runResearch({ request });
      for (const each of chat.requests) {
        assert.ok(!offered(each).includes('update_plan'));
        assert.doesNotMatch(JSON.stringify(each.messages), /update_plan/);
      }
    });
  }

  it('is refused if it is empty, and the one before it stays', async () => {
    const kept = plan(['Depth', 'done']);
    const { calls, response } = await runResearch({
      turns: [
        { calls: [kept] },
        { calls: [{ name: 'update_plan', arguments: { items: [] } }] },
        { calls: lookups('a') },
      ],
    });
    assert.deepEqual(
      calls.map(({ status }) => status),
      ['completed', 'failed', 'completed'],
    );
    assert.deepEqual(response.plan, kept.arguments);
    assert.deepEqual(response.warnings, []);
  });

  it('is limited to 40 items of 400 characters', async () => {
    const many = Array.from({ length: 60 }, (_, n): [string, string] => [`${n} ${'x'.repeat(3000)}`, 'wild']);
    const { response } = await runResearch({ turns: [{ calls: [plan(...many), ...lookups('a')] }] });
    const { items } = response.plan as Plan;
    assert.equal(items.length, 40);
    assert.ok(items.every(({ text, status }) => text.length <= 400 && status === 'open'));
  });

  it('is a thought in chat completions', async () => {
    const { response } = await runResearch({ turns: [{ calls: [plan(['Depth', 'done', 'ten metres'])] }] });
    assert.deepEqual(response.output.map(toReasoningStep)[0], {
      index: 0,
      type: 'thinking',
      thought: '1. [done] Depth (ten metres)',
    });
  });

  it('ends a run that does nothing else', async () => {
    const { response, asked } = await runResearch({ turns: (_, n) => ({ calls: [plan([`Item ${n}`, 'open'])] }) });
    assert.equal(response.incomplete_details?.reason, 'stuck');
    assert.ok(asked.research.length < 8);
  });

  it("is not shown as a call with OpenAI's profile", async () => {
    const { response } = await runResearch({
      turns: [{ calls: [plan(['Depth', 'done']), ...lookups('a')] }],
      request: { profile: 'openai' },
    });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['mcp_call', 'reasoning', 'message'],
    );
    assert.equal(response.plan?.items.length, 1);
  });

  for (const profile of [undefined, 'openai'] as const) {
    it(`survives a crash within a call beside it${profile ? ", also with OpenAI's profile" : ''}`, async () => {
      const store = await openStore(testConfig().store, { log: silentLogger });
      const began = Promise.withResolvers<void>();
      const asked: TurnRequest[] = [];
      const script = (request: TurnRequest): ScriptedTurn => {
        asked.push(request);
        if (isAnswerTurn(request)) return { text: ['So it is.'] };
        const looked = request.messages.some(({ role }) => role === 'tool');
        return looked ? { text: ['Ready.'] } : { calls: [plan(['Depth', 'done']), ...lookups('a')] };
      };
      const hanging = testTool('lookup', async () => {
        began.resolve();
        return await new Promise(() => {});
      });
      await using dying = await openHarness({ chat: new ScriptedModel(script), tools: [hanging], store });
      const { run } = await dying.runs.submit(question({ research: { ...(profile && { profile }) } }));
      await began.promise;
      await store.claim(run.id, { leaseMs: 0, force: true });
      const found = testTool('lookup', () => ({ result: 'Found.' }));
      await using next = await openHarness({ chat: new ScriptedModel(script), tools: [found], store });
      const last = decodeFrames(await readAll(next.runs, run)).at(-1);
      assert.ok(last?.type === 'response.completed');
      const [first, second] = last.response.output;
      const looked = profile ? first : second;
      assert.equal(first?.type, profile ? 'mcp_call' : 'tool_call');
      assert.match(JSON.stringify(looked), /"status":"completed"/);
      assert.match(JSON.stringify(looked), /Found\./);
      assert.deepEqual(last.response.plan?.items, [{ text: 'Depth', status: 'done' }]);
      assert.equal(asked.filter((each) => JSON.stringify(each.messages).includes('[done] Depth')).length, 2);
      await store.close();
    });
  }
});
