import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { answerPart } from '../../../src/protocol/items.ts';
import { verdictsIn } from '../../../src/research/report/verdicts.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { estimateRequest } from '../../../src/upstream/decoding/estimate.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';
import { reportModel, requestKind } from '../../support/report-model.ts';
import { runResearch, textOf } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';
import { cutTurn, type ScriptedTurn } from '../../support/scripted-model.ts';

const PAGE =
  'The Halden Tower was finished in 1911. It is 212 metres tall and was designed by Ada Brand. ' +
  'In 2019 it had 1,204,000 visitors, 3% fewer than in 2018. The lift is not open to the public.';
/** Reads a page, whatever is looked up. */
const reads = (content: string): Tool => ({
  ...testTool('lookup', () => ({ result: '{}' })),
  async call() {
    const url = 'https://pages.example/tower';
    const sources = [{ url, title: 'The tower', snippet: '', kind: 'read' as const }];
    return { sources, result: (sourceId) => ({ url, source_id: sourceId(url), content }) };
  },
});
const read = reads(PAGE);

/** An answer in one turn, checked with `verdicts`. */
async function checked(
  answer: string,
  verdicts: unknown,
  more: { request?: object; check?: ScriptedTurn; page?: string } = {},
) {
  const asked: TurnRequest[] = [];
  const respond = reportModel({ words: ['tower'], outline: '[]', section: () => ({}) });
  const say = (request: TurnRequest): ScriptedTurn => {
    asked.push(request);
    const kind = requestKind(request);
    if (kind === 'answer') return { text: [answer] };
    if (kind === 'check') return more.check ?? { text: [JSON.stringify(verdicts)] };
    return respond(request);
  };
  const request = { report: 'short' as const, verify: true, ...more.request };
  const tools = [reads(more.page ?? PAGE)];
  const result = await runResearch({ turns: say, answers: say, tools, request });
  const annotations = answerPart(result.message)?.annotations ?? [];
  return { ...result, annotations, checks: asked.filter((each) => requestKind(each) === 'check') };
}

describe('verdictsIn', () => {
  const drop = { instead: '' };

  it('finds the verdicts with a number, whatever stands beside them', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    for (const n of ['{"toString": 1}', deep, 'null', 'true', '"none"'])
      assert.deepEqual(verdictsIn(`[{"n": ${n}, "drop": true}, {"n": "2.", "drop": true}]`).get(2), drop);
    assert.deepEqual([...verdictsIn('[{"n": {}, "drop": true}]')], []);
  });

  it('reads any text in a single pass', () => {
    const first = '{"n": 1, "drop": true}';
    for (const said of [
      `${first}, {"n": 2, "text": "${'x'.repeat(10_000_000)}`,
      `${first} {"${'{\\"'.repeat(200_000)}`,
      `${first}${'['.repeat(1_000_000)}`,
      `${first}${'{'.repeat(1_000_000)}`,
      Array.from({ length: 400_000 }, () => first).join('\n'),
      `A 5" list: ${first}`,
      `{"n": 2, "text": "cut\n${first}`,
    ]) {
      let found = new Map();
      const ms = ownMs(() => (found = verdictsIn(said)));
      assert.deepEqual([...found], [[1, drop]], said.slice(0, 60));
      assert.ok(!isSlow(ms, 200), `${said.slice(0, 60)}: ${ms} ms`);
    }
  });
});

describe('doubtful sentences', () => {
  it('are corrected or dropped before they are shown', async () => {
    const { response, annotations, checks, events } = await checked(
      'The Halden Tower was finished in 1911 [1]. It had 1.9 million visitors in 2019 [1]. It stands in Lund [1].\n\n- The lift is open to all [1].',
      [
        { n: 1, text: 'It had 1.2 million visitors in 2019 [1].' },
        { n: 2, drop: true },
        { n: 3, text: 'The lift is not open to the public [1].' },
      ],
    );
    assert.equal(
      response.output_text,
      'The Halden Tower was finished in 1911 [1]. It had 1.2 million visitors in 2019 [1].\n\n- The lift is not open to the public [1].',
    );
    assert.deepEqual(
      annotations.map(({ support }) => support),
      ['quoted', 'quoted', 'quoted'],
    );
    assert.deepEqual(response.claims, { checked: 3, quoted: 3, partial: 0, none: 0, unchecked: 0, unmarked: 0 });
    assert.equal(checks.length, 1);
    assert.equal(textOf(checks[0]).split(PAGE).length, 2, 'what sentences have in common stands there once');
    assert.doesNotMatch(textOf(checks[0]), /finished in 1911 \[1\]/);
    assert.doesNotMatch(JSON.stringify(events), /1\.9 million/);
  });

  it('are told from what a page says, which stands on one line', async () => {
    const { checks } = await checked('It burned down in 1922 [1].', [], {
      page: `${PAGE}\n\n2. It stands in Lund [1].`,
    });
    assert.deepEqual(textOf(checks[0]).match(/(?<=\\n)\d\. /g), ['1. ']);
  });

  it('are recognised however the model writes its markers', async () => {
    for (const mark of ['[1]', '【1†L3】', '[^1]', '[source_id: 1]']) {
      const { response } = await checked(
        `The tower is 212 metres tall.${mark} It stands in Lund.${mark} It had 1.9 million visitors in 2019 ${mark}.`,
        [
          { n: 1, drop: true },
          { n: 2, text: `It had 1.2 million visitors in 2019 ${mark}.` },
        ],
      );
      assert.equal(
        response.output_text,
        'The tower is 212 metres tall.[1] It had 1.2 million visitors in 2019 [1].',
        mark,
      );
    }
  });

  it('are supported by a passage only if it is in the source and says as much', async () => {
    const answer = 'Nobody may use the elevator for visits [1]. It welcomed 1.9 million guests in 2019 [1].';
    const lift = 'The lift is not open to the public.';
    const visitors = 'In 2019 it had 1,204,000 visitors';
    const { annotations } = await checked(answer, [
      { n: 1, passage: lift },
      { n: 2, passage: visitors },
    ]);
    assert.deepEqual(
      annotations.map(({ support, cited_text }) => [support, cited_text]),
      [
        ['quoted', lift],
        ['partial', visitors],
      ],
    );
    const invented = await checked(answer, [{ n: 1, passage: 'The lift may not be used for visits.' }]);
    assert.notEqual(invented.annotations[0]?.support, 'quoted');
  });

  it('are supported by a passage that the model quotes with other signs, with gaps, or as part of more', async () => {
    const answer = 'Nobody may use the elevator for visits [1].';
    const lift = 'The lift is not open to the public.';
    for (const [passage, cited] of [
      ['the lift is not open  to the public', lift],
      [`[1] “${lift}”`, lift],
      ['The lift … to the public.', lift],
      [['The lift is not open', 'to the public'], lift],
      [`${PAGE}`, PAGE],
    ] as const) {
      const { annotations } = await checked(answer, [{ n: '1', passage }]);
      assert.deepEqual([annotations[0]?.support, annotations[0]?.cited_text], ['quoted', cited], String(passage));
    }
  });

  it('are judged by the complete verdicts in a malformed or cut reply', async () => {
    const answer = 'It stands in Lund [1]. It welcomed 1.9 million guests in 2019 [1].';
    for (const said of [
      '```json\n{"verdicts": [{"n": 1, "drop": true}, {"n": 2, "drop": true}]}\n```',
      '{"n": 1, "drop": true}\n{"n": 2, "drop": true}',
      '[{"n": 1, "drop": true}, {"n": 2, "drop": true}, {"n": 3, "passa',
    ]) {
      const { response } = await checked(`The tower is tall [1]. ${answer}`, [], { check: { text: [said] } });
      assert.doesNotMatch(response.output_text, /Lund|guests/, said);
    }
  });

  it('are checked if one of their claims is doubted, and keep markers that a correction forgets', async () => {
    const { response, annotations } = await checked(
      'It is 212 metres tall [1], and 1.9 million visitors came in 2019 [1].',
      [{ n: 1, text: 'It is 212 metres tall, and 1,204,000 visitors came in 2019.' }],
    );
    assert.match(response.output_text, /1,204,000 visitors came in 2019 \[1\]\./);
    assert.ok(annotations.every(({ support }) => support === 'quoted'));
  });

  it('may be sums of what the source says, but one figure may not stand for another', async () => {
    const { annotations } = await checked(
      'Some 1,241,000 people visited in 2018 and 2019 on average [1]. It is 221 metres tall [1].',
      [
        { n: 1, passage: 'In 2019 it had 1,204,000 visitors, 3% fewer than in 2018.' },
        { n: 2, passage: 'It is 212 metres tall' },
      ],
    );
    assert.deepEqual(
      annotations.map(({ support }) => support),
      ['quoted', 'partial'],
    );
  });

  it('stay unchanged if the model says nothing usable', async () => {
    const answer = 'The tower had 1.9 million visitors in 2019 [1].';
    for (const verdicts of [
      'nothing',
      [],
      [{ n: 7, drop: true }],
      [{ n: 1 }],
      [{ n: 1, text: 'It is loved by all.' }],
    ]) {
      const { response, annotations } = await checked(answer, verdicts);
      assert.equal(response.output_text, answer, JSON.stringify(verdicts));
      assert.equal(annotations[0]?.support, 'partial');
      assert.equal(response.warnings[0]?.code, 'unsupported_claims');
    }
  });

  it('stay unchanged if the check fails', async () => {
    const answer = 'The tower had 1.9 million visitors in 2019 [1].';
    const failing = await checked(answer, [], { check: { text: ['['], breaks: cutTurn() } });
    assert.equal(failing.response.output_text, answer);
    assert.equal(failing.response.status, 'completed');
  });

  it('of a report stay unchanged if checks hang, and every section is written', async () => {
    let checks = 0;
    const say = reportModel({
      words: ['tower'],
      outline: ['Height', 'Age', 'Lift'].map((heading) => ({ heading, records: [1] })),
      section: (number) => ({ text: [`It had ${number}.9 million visitors in 2019 [1].`] }),
      check: () => {
        checks++;
        setImmediate(() => mock.timers.tick(10 * 60_000 + 1));
        return { gate: new Promise(() => {}) };
      },
    });
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const request = { report: 'full' as const, verify: true };
      const { response } = await runResearch({ turns: say, answers: say, tools: [read], request });
      assert.match(response.output_text, /1\.9 million[\s\S]*2\.9 million[\s\S]*3\.9 million/);
      assert.deepEqual([response.incomplete_details, checks], [null, 1]);
    } finally {
      mock.timers.reset();
    }
  });

  it('of a report leave what its later sections cost, however long the model thinks about them', async () => {
    const price = { input: 2, output: 10 };
    const config = testConfig({ model: { routes: [{ provider: 'demo', model: 'demo', price }] } });
    const respond = reportModel({
      words: ['tower'],
      outline: ['Height', 'Age', 'Lift'].map((heading) => ({ heading, records: [1] })),
      section: (number) => ({ text: [`It had ${number}.9 million visitors in 2019 [1].`] }),
    });
    let checks = 0;
    const say = (request: TurnRequest): ScriptedTurn => {
      const isCheck = requestKind(request) === 'check';
      if (isCheck) checks++;
      const inputTokens = estimateRequest(request.messages, request.tools);
      const outputTokens = isCheck ? (request.maxOutputTokens ?? 0) : 200;
      const cost = (inputTokens * price.input + outputTokens * price.output) / 1_000_000;
      return { ...respond(request), usage: { inputTokens, outputTokens, reasoningTokens: outputTokens, cost } };
    };
    const request = { report: 'full' as const, verify: true, maxCost: 0.2 };
    const { response } = await runResearch({ config, turns: say, answers: say, tools: [read], request });
    assert.match(response.output_text, /1\.9 million[\s\S]*2\.9 million[\s\S]*3\.9 million/);
    assert.equal(response.incomplete_details, null);
    assert.ok(checks > 0);
    assert.ok((response.usage.cost?.total ?? Infinity) <= 0.2, JSON.stringify(response.usage));
  });

  it('of an answer stay as far as they are written when its time is over', async () => {
    const beginning = 'The tower is 212 metres tall, and it was finished in 1911. '.repeat(2);
    const respond = reportModel({ words: ['tower'], outline: '[]', section: () => ({}) });
    let answers = 0;
    const say = (request: TurnRequest): ScriptedTurn => {
      if (requestKind(request) !== 'answer') return respond(request);
      if (answers++ === 0) return { text: [beginning], finish: 'length' };
      setImmediate(() => mock.timers.tick(20 * 60_000));
      return { gate: new Promise(() => {}) };
    };
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const request = { report: 'short' as const, verify: true };
      const { response } = await runResearch({ turns: say, answers: say, tools: [read], request });
      assert.equal(response.output_text, beginning);
      assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    } finally {
      mock.timers.reset();
    }
  });

  it('of an answer that repeats itself without end leave it marked as stuck', async () => {
    const { response } = await checked('Nothing is said of the tower here. '.repeat(400), []);
    assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
  });

  it('are all but whole sentences of the source: parts of them, paraphrases, what stands behind the last marker', async () => {
    const whole = 'The Halden Tower was finished in 1911 [1].';
    assert.equal((await checked(whole, [])).checks.length, 0);
    for (const answer of [
      'It is 212 metres tall [1].',
      'The tower was finished in 1911 [1].',
      'The Halden Tower was finished in 1911 [1], and Ada Brand fell from it.',
    ]) {
      const { response, checks } = await checked(`${whole} ${answer}`, [{ n: 1, drop: true }]);
      assert.equal(checks.length, 1, answer);
      assert.equal(response.output_text, whole);
    }
  });

  it('are doubted if the model drops all of a text, or corrects one with what no source says', async () => {
    const answer = 'Ada Brand designed the tower, which is 212 metres tall [1].';
    assert.equal((await checked(answer, [])).annotations[0]?.support, 'quoted');
    for (const verdict of [{ drop: true }, { text: 'Nobody knows why [1].' }]) {
      const { response, annotations } = await checked(answer, [{ n: 1, ...verdict }]);
      assert.deepEqual([response.output_text, annotations[0]?.support], [answer, 'partial']);
    }
    const same = await checked(answer, [{ n: 1, text: answer }]);
    assert.equal(same.annotations[0]?.support, 'quoted');
  });

  it('are not checked if there are none, if it is off, or in structured answers', async () => {
    const doubtful = 'It had 1.9 million visitors [1].';
    assert.equal((await checked(doubtful, [], { request: { verify: false, effort: 'high' } })).checks.length, 0);
    assert.equal((await checked(doubtful, [], { request: { verify: undefined } })).checks.length, 0);
    assert.equal((await checked(doubtful, [], { request: { verify: undefined, effort: 'high' } })).checks.length, 1);
    const format = { type: 'json_object' as const };
    assert.equal(
      (await checked('{"a":"It had 1.9 million visitors [1]"}', [], { request: { format } })).checks.length,
      0,
    );
  });

  it('keep their form: table rows, list markers, spaces', async () => {
    const table =
      '| Year | Visitors |\n|---|---|\n| 2019 | 1.9 million [1] |\n| 2018 | 5 million [1] |\n\n1. It was finished in 1922 [1].\n';
    const { response } = await checked(table, [
      { n: 1, text: '| 2019 | 1,204,000 [1] |' },
      { n: 2, text: 'In 2018 it had more [1].' },
      { n: 3, text: 'It was finished in 1911 [1].' },
    ]);
    assert.equal(
      response.output_text,
      '| Year | Visitors |\n|---|---|\n| 2019 | 1,204,000 [1] |\n| 2018 | 5 million [1] |\n\n1. It was finished in 1911 [1].\n',
    );
  });
});
