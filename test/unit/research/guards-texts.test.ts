import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { findInventedResult, isRefusal } from '../../../src/research/guards/refusals.ts';
import { nearlySame, refuseRepeated } from '../../../src/research/guards/repeated-calls.ts';
import { RepetitionWatch } from '../../../src/research/guards/repetition.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { createFence } from '../../../src/research/text/fence.ts';
import { noUsage } from '../../../src/upstream/turn.ts';
import { isSlow } from '../../support/fair-time.ts';

describe('a refusal', () => {
  for (const text of [
    "I'm sorry, but I can't help with that.",
    'I’m sorry, I can’t assist with this request.',
    'I cannot fulfil this.',
    'I am unable to comply with that.',
    "As an AI language model, I'm unable to browse.",
    'This is against our policies.',
    'Dabei kann ich Ihnen leider nicht helfen.',
    'Je suis désolé, mais je ne peux pas vous aider.',
    'Lo siento, no puedo ayudar con eso.',
    '抱歉，我无法协助这个请求。',
    '申し訳ありませんが、お手伝いできません。',
  ])
    it(`is found: ${text}`, () => assert.ok(isRefusal(text)));

  const LONG = `${'The harbour was opened in 1932 and is still in use, as two sources say. '.repeat(12)}I'm sorry, but I can't help with the rest.`;
  for (const text of [
    'I am ready.',
    'Sorry for the delay: I now have all that the answer needs.',
    'I could not find the third figure; I am ready to answer without it.',
    "I can't find anything else that would help.",
    'I cannot say which of the two is right, both sources are good.',
    'The museum refuses to support visitors, as [1] says.',
    'I cannot answer this with certainty, but I am ready.',
    'No help was found in the second page.',
    '',
    LONG,
  ])
    it(`is not found: ${text.slice(0, 80)}`, () => assert.ok(!isRefusal(text)));
});

describe('a tool result invented by the model', () => {
  for (const text of [
    'Let me look.\n<tool_result>\n{"a": 1}\n</tool_result>',
    '<tool_response>{}</tool_response>',
    '<function_results>x</function_results>',
    'Tool result: {"results": []}',
    'Observation: ```json\n[{"title": "x"}]\n```',
    'Action: web_search\nAction Input: {"queries": ["a"]}\nObservation: The sky is blue.',
  ])
    it(`is found: ${text.slice(0, 60).replaceAll('\n', ' ')}`, () => assert.notEqual(findInventedResult(text), -1));

  for (const text of [
    'Observation: both pages agree that it opened in 1932 [1].',
    'Tool results so far agree. Next I read the second page.',
    'Observations: the sources differ.',
    'The tool result says so; I look further.',
    'I note the results [1, 2] and go on.',
  ])
    it(`is not found: ${text}`, () => assert.equal(findInventedResult(text), -1));
});

describe('endless repetition', () => {
  const endless = (text: string, step = 37) => {
    const watch = new RepetitionWatch();
    for (let at = 0; at < text.length; at += step) if (watch.push(text.slice(at, at + step))) return at + step;
    return undefined;
  };
  const rows = (n: number, row: (i: number) => string) => Array.from({ length: n }, (_, i) => row(i)).join('\n');

  for (const [name, passage, times] of [
    ['a sentence', 'And so the ferry crosses the bay of Elmsworth again. ', 40],
    ['a paragraph', `${'The archive holds letters, maps and plans of 1932. '.repeat(3)}Nobody reads them.\n\n`, 20],
    ['one word', 'the ', 4000],
    ['line breaks', '\n', 8000],
    ['zeros', '0', 8000],
    ['CJK', '我需要再次搜索这个问题的答案，', 80],
    ['emoji', '🎉🎊 hurra dem Kapitän! ', 60],
  ] as const)
    it(`of ${name} is found, however it is cut`, () => {
      for (const step of [1, 37, 1_000_000]) {
        const at = endless(`It began well. ${passage.repeat(times)}`, step);
        assert.ok(at !== undefined, `in steps of ${step}`);
      }
    });

  for (const [name, text] of [
    ['a table', rows(200, (i) => `| ${i} | ${i * 7} | yes | no | ${i % 3 ? 'open' : 'closed'} |`)],
    ['a table of the same cells', rows(120, () => '| n/a | n/a | n/a | n/a |')],
    ['rules and indents', `${'-'.repeat(3000)}\n${' '.repeat(2000)}x\n${'=-'.repeat(400)}`],
    ['code', rows(150, (i) => `  assert.equal(sum(${i}, ${i + 1}), ${2 * i + 1});`)],
    ['closing brackets', rows(60, (i) => `${' '.repeat(120 - i * 2)}});`)],
    ['a list', rows(150, (i) => `- The archive of year ${1800 + i} holds ${i * 3} letters [${i % 9}].`)],
    [
      'JSON',
      JSON.stringify(
        Array.from({ length: 200 }, (_, i) => ({ id: i, name: `n${i}`, ok: true })),
        null,
        2,
      ),
    ],
    [
      'a refrain',
      `${'Row, row, row your boat, gently down the stream. '.repeat(4)}${'Merrily we go. '.repeat(4)}`.repeat(2),
    ],
  ] as const)
    it(`is not found in ${name}`, () => {
      for (const step of [1, 37, 1_000_000]) assert.equal(endless(text, step), undefined, `in steps of ${step}`);
    });

  it('is looked for quickly in a million characters', () => {
    const began = process.threadCpuUsage();
    let seed = 1;
    const watch = new RepetitionWatch();
    for (let i = 0; i < 20_000; i++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      assert.equal(watch.push(`number ${seed} is told to ${(seed % 977).toString(36)}, then goes on. `), false);
    }
    assert.ok(!isSlow(process.threadCpuUsage(began).user / 1000, 8000), 'less than eight seconds of work');
  });
});

describe('nearlySame', () => {
  for (const [a, b] of [
    ['capital of France', 'France capital'],
    ['What is the capital of France?', 'capital of France'],
    ['best python frameworks 2024', 'best Python framework, 2024'],
    ['東京の人口', '東京の人口'],
  ] as const)
    it(`matches: ${a} / ${b}`, () => assert.ok(nearlySame(a, b)));

  for (const [a, b] of [
    ['capital of France', 'capital of Spain'],
    ['GDP of France 2020', 'GDP of France 2021'],
    ['who is the mayor of Lund', 'who was the first mayor of Lund'],
    ['AI law', 'ML law'],
    ['?', '!'],
  ] as const)
    it(`does not match: ${a} / ${b}`, () => assert.ok(!nearlySame(a, b)));
});

describe('texts between the tags of tool results', () => {
  it('lose the tags if they are known; of very many the first twenty are looked up', () => {
    const fence = createFence('a run');
    const known = `${fence.around('seen')} and `;
    assert.equal(
      fence.unwrap(known, (text) => text === 'seen'),
      'seen and ',
    );
    let lookups = 0;
    fence.unwrap(known.repeat(1000), () => ++lookups > 0);
    assert.equal(lookups, 20);
  });
});

describe('a call of a tool', () => {
  it('is compared with hundreds of earlier ones without reading their arguments anew', () => {
    const state = new ResearchState();
    const calls = Array.from({ length: 300 }, (_, call) => ({
      ...{ id: `call_${call}`, call, name: 'execute_python' },
      arguments: JSON.stringify({ code: `print(${call})` }),
    }));
    const turn = { message: { role: 'assistant' as const, content: '' }, usage: noUsage(), calls, estimate: 0 };
    state.apply({ t: 'turn', ...turn, cut: false, invented: false, elapsedMs: 0 });
    for (const { call } of calls)
      state.apply({ t: 'result', call, status: 'completed', result: '{}', sources: [], queries: 0 });
    const again = (code: string) =>
      refuseRepeated({ name: 'execute_python', arguments: JSON.stringify({ code }) }, state, []);
    assert.equal(again('print(299)')?.again, 299);
    assert.equal(again('print(-1)'), undefined);
    const parse = mock.method(JSON, 'parse');
    try {
      assert.equal(again('PRINT(7)')?.again, 7);
      assert.equal(again('print(-2)'), undefined);
      assert.ok(parse.mock.callCount() < 10, `${parse.mock.callCount()} texts were parsed`);
    } finally {
      parse.mock.restore();
    }
  });
});
