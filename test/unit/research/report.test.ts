import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { marked } from 'marked';
import type { RunId } from '../../../src/base/ids.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import { sectionsIn } from '../../../src/research/report/outline.ts';
import { Subheadings } from '../../../src/research/report/subheadings.ts';
import type { AppendBatch } from '../../../src/store/run-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { estimateRequest, estimateTokens } from '../../../src/upstream/decoding/estimate.ts';
import { TurnError, type TurnRequest } from '../../../src/upstream/turn.ts';
import { laneModel } from '../../support/lane-model.ts';
import { type ReportScript, reportModel, requestKind, sectionOf } from '../../support/report-model.ts';
import { lookup, lookups, runResearch, textOf } from '../../support/research-run.ts';
import { openHarness, question, readAll, testTool } from '../../support/run-harness.ts';
import { cutTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const OUTLINE = [
  { heading: 'In short', aim: 'The answer.', records: [1, 2, 3] },
  { heading: 'On a', aim: 'What a is.', records: [1] },
  { heading: 'On b', aim: 'What b is.', records: ['r2'] },
];
const plain: ReportScript = {
  outline: OUTLINE,
  section: (number) => ({ text: [`Text ${number}`, ` says so [${number}].`] }),
};

/** A run with a report, and its requests by kind (`of`). */
async function report(script: Partial<ReportScript>, research: object = {}, tools?: Tool[]) {
  const respond = reportModel({ ...plain, ...script });
  const requests: TurnRequest[] = [];
  const answer = (request: TurnRequest) => {
    requests.push(request);
    return respond(request);
  };
  const result = await runResearch({
    turns: answer,
    answers: answer,
    ...(tools && { tools }),
    request: { report: 'full', verify: false, ...research },
  });
  const of = (kind: string) => requests.filter((request) => requestKind(request) === kind);
  return { ...result, requests, of };
}

describe('a report by sections', () => {
  it('has the headings of its outline, one text and one numbering', async () => {
    const { response, message, of } = await report({});
    const text =
      '## In short\n\nText 1 says so [1].\n\n## On a\n\nText 2 says so [2].\n\n## On b\n\nText 3 says so [3].';
    assert.equal(response.output_text, text);
    assert.equal(response.status, 'completed');
    assert.equal(response.incomplete_details, null);
    const annotations = answerPart(message)?.annotations ?? [];
    assert.deepEqual(
      annotations.map(({ start_index, end_index, source_id }) => [text.slice(start_index, end_index), source_id]),
      [
        ['[1]', 1],
        ['[2]', 2],
        ['[3]', 3],
      ],
    );
    assert.deepEqual([of('outline').length, of('section').length, of('answer').length], [1, 3, 0]);
    assert.equal(response.usage.total_tokens, 15 * 6);
  });

  it('is written section by section from the records of each, after a common prefix', async () => {
    const { of } = await report({});
    const [first, second, third] = of('section');
    assert.deepEqual(second?.messages.slice(0, 2), third?.messages.slice(0, 2));
    assert.equal(second?.stablePrefix, 2);
    assert.match(textOf(second), /All about a/);
    assert.doesNotMatch(textOf(second), /All about b/);
    assert.match(textOf(second), /told in section 1/);
    assert.match(textOf(second), /ends so:.*Text 1 says so\./);
    assert.doesNotMatch(textOf(first), /told in section/);
    assert.equal(second?.tools, undefined);
  });

  it('is planned from each record once, however many attempts found it', async () => {
    const { of } = await report({}, { attempts: 3 });
    const listed = textOf(of('outline')[0]).split('Records, each').at(-1) ?? '';
    for (const word of ['a', 'b', 'c']) assert.equal(listed.split(`All about ${word}`).length, 2, listed);
    // A section finds what it does not name.
    const outline = [{ heading: 'The harbour crane' }, { heading: 'Else' }];
    const { of: found } = await report({ words: ['harbour crane'], outline }, { attempts: 3 });
    const [first] = found('section');
    const given = textOf(first).split('What was found for it').at(-1) ?? '';
    assert.equal(given.split('All about harbour crane').length, 2, given);
  });

  it('names each source of a section by its title, up to 80 characters', async () => {
    const titles = ['Harbours and lighthouses of the northern coast', 'x'.repeat(90)];
    const tool: Tool = {
      ...testTool('lookup', () => ({ result: '{}' })),
      async call({ q }) {
        const url = `https://pages.example/${q}`;
        const sources = [{ url, title: titles[Number(q)] ?? '', snippet: '', kind: 'read' as const }];
        return { sources, result: (sourceId) => ({ source_id: sourceId(url), content: `All about ${q}.` }) };
      },
    };
    const { of } = await report({ words: ['0', '1'] }, {}, [tool]);
    const heads = textOf(of('section')[0]).match(/(?<=\\n)\[\d\] [^\\"]+/g);
    assert.deepEqual(heads, [`[1] ${titles[0]}`, `[2] ${'x'.repeat(79)}…`]);
  });

  it('drops a heading that the model repeats, and no other', async () => {
    for (const [first, second] of [
      [['## In ', 'short\n', '\nText.'], ['**2. On A:**\n\nText.']],
      [['In short\n', '==', '==\n', '\nText.'], ['On a\n---\nText.']],
      [
        ['## Section ', '1: In short', '\nText.'],
        ['\n', '\n# Teil 2 – On a\n\nText.'],
      ],
    ] as const) {
      const { response } = await report({
        section: (number) =>
          ({ 1: { text: [...first] }, 2: { text: [...second] } })[number] ?? { text: ['### Of another kind\n\nText.'] },
      });
      assert.equal(
        response.output_text,
        '## In short\n\nText.\n\n## On a\n\nText.\n\n## On b\n\n### Of another kind\n\nText.',
      );
    }
  });

  it('has no headings of the model beside or above its own', async () => {
    const code = '```sh\n# a comment\n```\n#tag';
    const pieces = ['# Rep', 'ort\n\nText.\n\n#', '# More\n', `\n### Less\n\n${code}`];
    const text = `### Report\n\nText.\n\n### More\n\n### Less\n\n${code}`;
    for (const verify of [false, true]) {
      for (const parts of [pieces, [...pieces.join('')]]) {
        const { response } = await report({ section: () => ({ text: parts }) }, { verify });
        assert.equal(response.output_text, `## In short\n\n${text}\n\n## On a\n\n${text}\n\n## On b\n\n${text}`);
      }
    }
  });

  it('has no underlined headings of the model, and keeps its rules, lists and tables', async () => {
    const code = '```\nText\n---\n===\n```';
    const said = `Big\n===\nText.\n---\nMore.\n\n---\n\n- one\n- two\n\n| a |\n|---|\n| 1 |\n\n${code}\nEnd\n--`;
    const text = `Big\n\nText.\n\n---\nMore.\n\n---\n\n- one\n- two\n\n| a |\n|---|\n| 1 |\n\n${code}\nEnd\n\n--`;
    for (const verify of [false, true]) {
      for (const parts of [[said], [...said]]) {
        const { response } = await report({ section: () => ({ text: parts }) }, { verify });
        assert.equal(response.output_text, `## In short\n\n${text}\n\n## On a\n\n${text}\n\n## On b\n\n${text}`);
      }
    }
    const headings = marked.lexer(text).filter(({ type }) => type === 'heading');
    assert.deepEqual(headings, []);
  });

  it('puts headings below its own also where another instance continues it', () => {
    for (const [before, text, shown] of [
      ['```sh\n', '# a comment\n', '# a comment\n'],
      ['```sh\nls\n```\n', '# Own\n', '### Own\n'],
      ['Text.\n\n-', '--\nMore', '--\nMore'],
      ['Text.\n', '---\nMore', '\n---\nMore'],
      ['Text.\n#', ' Own\n', ' Own\n'],
    ] as const) {
      const subheadings = new Subheadings(before);
      assert.equal(subheadings.push(text) + subheadings.end(), shown, before + text);
    }
  });

  it('keeps its headings if the model announces calls instead of writing', async () => {
    for (const said of ['## In short', 'Let me look.']) {
      const section = (_number: number, _request: TurnRequest, tries: number): ScriptedTurn =>
        tries === 0 ? { text: [said], calls: lookups('x') } : { text: ['# Own\n\nText.'] };
      const { response } = await report({ outline: OUTLINE.slice(0, 2), section });
      const first = said.startsWith('#') ? '' : `${said}\n\n`;
      const second = said.startsWith('#') ? '### In short\n\n' : `${said}\n\n`;
      const text = `## In short\n\n${first}### Own\n\nText.\n\n## On a\n\n${second}### Own\n\nText.`;
      assert.equal(response.output_text, text);
    }
  });

  it('skips a section of which the model says nothing, and is marked as stuck', async () => {
    const noText = new TurnError('failed', 'an empty answer', { started: false, saysNothing: true });
    const nothing = [
      { breaks: noText },
      { text: ['  \n'] },
      { text: ['## On a\n'] },
      { finish: 'content_filter' },
    ] as const;
    for (const [said, verify] of nothing.flatMap((each) => [[each, false] as const, [each, true] as const])) {
      const section = (number: number): ScriptedTurn =>
        number === 2 ? { ...said, text: [...('text' in said ? said.text : [])] } : { text: ['Text.'] };
      const { response } = await report({ section }, { verify });
      assert.equal(response.output_text, '## In short\n\nText.\n\n## On b\n\nText.', JSON.stringify([said, verify]));
      assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
      if ('text' in said && said.text[0] !== '  \n') continue;
      const none = await report({ section: () => section(2) }, { verify });
      assert.deepEqual([none.response.status, none.response.error?.code], ['failed', 'upstream_error']);
    }
    const cut = await report({
      section: (number) => (number === 2 ? { text: ['It is'], finish: 'content_filter' } : { text: ['Text.'] }),
    });
    assert.match(cut.response.output_text, /## On a\n\nIt is\n\n## On b\n\nText\.$/);
    const alone = await runResearch({
      turns: reportModel(plain),
      answers: (request) => (requestKind(request) === 'outline' ? { breaks: noText } : { text: ['An answer [1].'] }),
      request: { report: 'full', verify: false },
    });
    assert.equal(alone.response.output_text, 'An answer [1].', 'without an outline there is one answer');
  });

  it('has all the minutes that research has left', async () => {
    const section = (number: number): ScriptedTurn => {
      const text = [`Text ${number}.`];
      if (number !== 2) return { text };
      const gate = new Promise((resolve) => void setTimeout(resolve, 15 * 60_000));
      setImmediate(() => mock.timers.tick(15 * 60_000));
      return { text, gate };
    };
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { response } = await report({ section });
      assert.match(response.output_text, /Text 1\..*Text 2\..*Text 3\./s);
      assert.equal(response.incomplete_details, null);
    } finally {
      mock.timers.reset();
    }
  });

  it('ends with the sections that are sent if the time for the answer is over in a later one', async () => {
    for (const verify of [false, true]) {
      const section = (number: number): ScriptedTurn => {
        if (number === 1) return { text: ['Text.'] };
        setImmediate(() => mock.timers.tick(20 * 60_000));
        return { gate: new Promise(() => {}) };
      };
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const { response } = await report({ section }, { verify });
        assert.equal(response.output_text, '## In short\n\nText.');
        assert.deepEqual(response.incomplete_details, { reason: 'budget' });
      } finally {
        mock.timers.reset();
      }
    }
  });

  it('is one answer if the model wants no sections, if it is short, or if nothing was found', async () => {
    for (const outline of ['[]', 'I would rather not.', '[{"heading": "One"}]']) {
      const { response, of } = await report({ outline });
      assert.equal(response.output_text, 'A short answer [1].', outline);
      assert.equal(of('outline').length, 1);
    }
    const short = await report({}, { report: 'short', effort: 'high' });
    assert.deepEqual([short.of('outline').length, short.of('answer').length], [0, 1]);
    const nothing = await report({ words: [] }, { tools: { builtin: [], allowedDomains: [] }, toolChoice: 'none' });
    assert.equal(nothing.of('outline').length, 0);
  });

  it('is the default with high effort, not with medium effort', async () => {
    const high = await report({}, { report: undefined, effort: 'high' });
    assert.equal(high.of('section').length, 3);
    const medium = await report({}, { report: undefined });
    assert.equal(medium.of('outline').length, 0);
  });

  it('continues within a section that is cut by its length or by the provider', async () => {
    const sentence = 'It is told at some length that this is how it stands with all of these things here. ';
    const { response, of } = await report({
      section: (number, _, tries) => {
        if (number !== 2) return { text: ['Text.'] };
        if (tries === 0) return { text: [sentence, sentence], finish: 'length' };
        if (tries === 1) return { text: [`Then ${sentence}`, sentence], breaks: cutTurn() };
        return { text: ['the end.'] };
      },
    });
    assert.equal(
      response.output_text,
      `## In short\n\nText.\n\n## On a\n\n${sentence}${sentence}Then ${sentence}${sentence}the end.\n\n## On b\n\nText.`,
    );
    assert.equal(of('section').length, 5);
  });

  it('gives every section a share of max_output_tokens, and says that it was cut', async () => {
    const long = 'word '.repeat(2000);
    const { response } = await report(
      { section: () => ({ text: long.match(/.{1,200}/g) ?? [], finish: 'length' }) },
      { maxOutputTokens: 900 },
    );
    for (const { heading } of OUTLINE) assert.match(response.output_text, new RegExp(`## ${heading}\n\nword`));
    assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
    assert.ok(response.output_text.length < 900 * 8, `${response.output_text.length}`);
    const little = await report(
      {
        outline: Array.from({ length: 12 }, (_, n) => ({ heading: `Part ${n}`, records: [1] })),
        section: () => ({ text: long.match(/.{1,200}/g) ?? [], finish: 'length' }),
      },
      { maxOutputTokens: 90 },
    );
    assert.deepEqual(little.response.incomplete_details, { reason: 'max_output_tokens' });
    const written = little.response.output_text.replaceAll(/## .*/g, '');
    assert.ok(estimateTokens(written) <= 90 + 30, 'at most a piece more than there is for all of them');
    assert.match(written, /word/);
  });

  it('searches once more for a section without records, and writes it from what that found', async () => {
    const words: string[] = [];
    const tool = testTool('lookup', ({ q }) => {
      words.push(String(q));
      return {
        result: JSON.stringify({ found: `All about ${q}.` }),
        sources: [
          { url: `https://pages.example/${q}`, title: `On ${q}`, snippet: `About ${q}.`, kind: 'read' as const },
        ],
      };
    });
    const respond = reportModel({
      ...plain,
      outline: [
        ...OUTLINE.slice(0, 2),
        { heading: 'The harbour master', aim: 'Who the harbour master is.', records: [] },
      ],
    });
    let named = 0;
    const answer = (request: TurnRequest) => {
      const last = JSON.stringify(request.messages.at(-1));
      if (requestKind(request) === 'research' && /nothing was found yet/.test(last)) {
        named++;
        return { calls: [{ name: 'lookup', arguments: { q: 'the harbour master' } }] };
      }
      return respond(request);
    };
    const { response, asked } = await runResearch({
      turns: answer,
      answers: answer,
      tools: [tool],
      request: { report: 'full', verify: false },
    });
    assert.equal(named, 1);
    assert.deepEqual(words, ['a', 'b', 'c', 'the harbour master']);
    const section = asked.answer.find((request) => requestKind(request) === 'section' && sectionOf(request) === 3);
    assert.match(textOf(section), /All about the harbour master/);
    assert.match(response.output_text, /## The harbour master\n\nText 3/);
  });

  it('closes a code block that a section leaves open', async () => {
    for (const [open, end] of [
      ['So:\n\n```sh\nls', '```'],
      ['So:\n\n~~~\nls\n```', '~~~'],
      ['````\n```\nls\n```\n', '````'],
      ['1. So:\n\n   ```\n   ls', '   ```'],
      ['> ```\n> ls', '> ```'],
      ['- So:\n\n  ```\n  ls\n\nWell.', undefined],
      ['> ```\n> ls\n\nWell.', undefined],
      ['~~~\nls\n~~~\nWell.', undefined],
    ] as const) {
      const { response } = await report({ section: (number) => ({ text: [number === 1 ? open : 'Text [2].'] }) });
      const joint = end === undefined ? '' : `\n${end}`;
      assert.ok(response.output_text.includes(`${open}${joint}\n\n## On a\n\nText [`), response.output_text);
      const text = marked.lexer(response.output_text).filter(({ type }) => type === 'heading');
      assert.equal(text.length, 3, 'every reader of Markdown sees the headings behind it');
    }
  });
});

describe('the requests of a report', () => {
  it("are at most a third of the run's largest, and hold passages of the sources", async () => {
    const page = (q: unknown) =>
      Array.from({ length: 150 }, (_, n) => `Of ${q} it is known that part ${n} has ${n * 7} doors.`).join(' ');
    const tool = testTool('fetch_url_content', () => ({ result: '' }));
    const pages = {
      ...tool,
      name: 'lookup',
      async call({ q }: Record<string, unknown>) {
        const url = `https://pages.example/${q}`;
        const sources = [{ url, title: `On ${q}`, snippet: '', kind: 'read' as const }];
        return { sources, result: (id: (url: string) => number) => ({ url, source_id: id(url), content: page(q) }) };
      },
    };
    const respond = reportModel({ ...plain, words: ['a', 'b', 'c', 'd', 'e', 'f'] });
    const requests: TurnRequest[] = [];
    const say = (request: TurnRequest) => {
      requests.push(request);
      return respond(request);
    };
    await runResearch({ turns: say, answers: say, tools: [pages], request: { report: 'full', verify: false } });
    const sizes = (kind: string) =>
      requests.filter((request) => requestKind(request) === kind).map(({ messages }) => estimateRequest(messages));
    const largest = Math.max(...sizes('research'), ...sizes('outline'));
    assert.ok(largest > 6000, `${largest}`);
    assert.equal(sizes('section').length, 3);
    for (const size of sizes('section')) assert.ok(size <= largest / 3 && size > 600, `${size} of ${largest}`);
    const second = requests.find((request) => requestKind(request) === 'section' && sectionOf(request) === 2);
    assert.match(textOf(second), /From its text: .*Of a it is known/);
    // Of forty sections each knows the headings of the others, and its own aim.
    const aim = 'It tells of doors, and of who went through them. '.repeat(12);
    const outline = Array.from({ length: 40 }, (_, n) => ({
      heading: `Part ${n}`,
      aim: `${n}: ${aim}`,
      records: [n + 1],
    }));
    const many = reportModel({ ...plain, words: ['a', 'b', 'c', 'd', 'e', 'f'], outline });
    requests.length = 0;
    const sayMany = (request: TurnRequest) => {
      requests.push(request);
      return many(request);
    };
    await runResearch({ turns: sayMany, answers: sayMany, tools: [pages], request: { report: 'full', verify: false } });
    const limit = Math.max(...sizes('research'), ...sizes('outline')) / 3;
    assert.equal(sizes('section').length, 40);
    for (const size of sizes('section')) assert.ok(size <= limit, `${size} of ${limit}`);
    const last = textOf(requests.findLast((request) => requestKind(request) === 'section'));
    assert.match(last, /1\. Part 0\\n2\. Part 1\\n.*39: It tells of doors/);
  });
});

describe('an outline', () => {
  it('is read as models write it', () => {
    const list =
      '[{"heading":"## A [1]","aim":"x","records":["r1",2,2,99,"x",{"toString":1}]},{"heading":"B"},{"heading":" "},{"aim":"y"},7]';
    const sections = [
      { heading: 'A 1', aim: 'x', records: [1, 2] },
      { heading: 'B', aim: '', records: [] },
    ];
    const flat = list.replace(',{"toString":1}', '');
    const texts = [
      list,
      `Here it is:\n\`\`\`json\n${list}\n\`\`\``,
      `{"sections":${list}}`,
      `{"title":"T","keywords":["a","b"],"sections":${list}}`,
      `{"outline":{"notes":[],"sections":${flat}}}`,
      `As [1] says:\n${flat}\nIt rests on [2].`,
      `${flat.slice(0, -1)},]`,
      `${flat.replace('"x"]', '"x",]').slice(0, -1)},]`,
      `${flat.slice(0, -1)},{"heading":"C","aim":"it was cu`,
    ];
    for (const text of texts) assert.deepEqual(sectionsIn(text, 3), sections, text);
  });

  it('names its records in any form', () => {
    for (const records of [[1, 3], ['1', 'r3'], ['[1]', '[3]'], '1, 3', '[1][3]', ['1 and 3']])
      assert.deepEqual(
        sectionsIn(JSON.stringify([{ heading: 'A', records }, { heading: 'B' }]), 3)[0]?.records,
        [1, 3],
      );
  });

  it('has each heading once, with the records of all sections of that name', () => {
    const list = [1, 2, 3].map((number) => ({ heading: ['On tea', 'Cups', 'ON TEA'][number - 1], records: [number] }));
    assert.deepEqual(sectionsIn(JSON.stringify(list), 3), [
      { heading: 'On tea', aim: '', records: [1, 3] },
      { heading: 'Cups', aim: '', records: [2] },
    ]);
  });

  it('ends long headings with a whole character', () => {
    const list = ['On tea', `${'a'.repeat(159)}😀`].map((heading) => ({ heading }));
    assert.ok(sectionsIn(JSON.stringify(list), 3).every(({ heading }) => heading.isWellFormed()));
  });
});

describe('a report whose instance dies', function () {
  this.timeout(60_000);
  for (const verify of [false, true]) {
    it(`is one text, and nothing is paid for twice, wherever it is cut (verify: ${verify})`, async () => {
      const script: ReportScript = {
        ...plain,
        section: (number, request) => {
          if (number !== 2) return { text: [`Text ${number}`, ` says so [${number}].`] };
          if (/was interrupted/.test(textOf(request))) return { text: [' And the end', ' [1].'] };
          // In one piece: on a busy machine an append may come between two, and what was cut off is not said again.
          const long =
            'A long beginning of what is to be told here, which is more than a hundred characters long in any case so [2].';
          return { text: [long], finish: 'length' };
        },
      };
      const submission = question({ research: { report: 'full', verify } });
      const whole = await cutAfter(Number.POSITIVE_INFINITY, reportModel(script), submission);
      assert.match(
        whole.text,
        /^## In short\n\nText 1 says so \[1\]\.\n\n## On a\n\nA long .* so \[2\]\. And the end \[1\]\.\n\n## On b/s,
      );
      for (let cut = 1; cut < whole.appends; cut++) {
        const { text, deltas, annotations, chat } = await cutAfter(cut, reportModel(script), submission);
        assert.equal(text, deltas, `cut at ${cut}`);
        assert.equal(text, whole.text, `cut at ${cut}`);
        // Nothing that was stored is requested again, only the turn that was cut.
        assert.ok(chat.requests.length <= whole.chat.requests.length + 1, `cut at ${cut}`);
        assert.equal(text.match(/^## /gm)?.length, 3, text);
        assert.deepEqual(
          annotations.map(({ start_index, end_index }) => /^\[\d\]$/.test(text.slice(start_index, end_index))),
          annotations.map(() => true),
        );
      }
    });
  }
});

describe('a report of twelve sections, each cut by its length, in lanes', function () {
  this.timeout(120_000);

  it('is one text, and nothing is paid for twice, after whichever step its instance dies', async () => {
    const parts = ['depth', 'age'];
    const lanes = laneModel(parts, { times: 1 });
    const sections = Array.from({ length: 12 }, (_, n) => ({ heading: `Part ${n + 1}`, records: [1] }));
    const cut = 'A beginning of what is to be told here, which is more than a hundred characters long in any case, so ';
    const write = reportModel({
      outline: sections,
      section: (number, request) =>
        /was interrupted/.test(textOf(request))
          ? { text: [`ends part ${number} [1].`] }
          : { text: [cut], finish: 'length' },
    });
    const respond = (request: TurnRequest) => (requestKind(request) === 'research' ? lanes(request) : write(request));
    const submission = question({ research: { report: 'full', verify: false, lanes: 2 } });
    const whole = await cutAfter(Number.POSITIVE_INFINITY, respond, submission);
    const text = sections.map(({ heading }, n) => `## ${heading}\n\n${cut}ends part ${n + 1} [1].`).join('\n\n');
    assert.equal(whole.text, text);
    const limit = whole.chat.requests.length;
    for (let at = 1; at < whole.appends; at += 2) {
      const { text: own, deltas, annotations, chat } = await cutAfter(at, respond, submission);
      assert.deepEqual([own, deltas], [text, text], `cut at ${at}`);
      assert.equal(annotations.length, 12, `cut at ${at}`);
      for (const { start_index, end_index } of annotations) assert.equal(text.slice(start_index, end_index), '[1]');
      // What ran when the instance died is requested again: a turn of each lane at most.
      assert.ok(chat.requests.length <= limit + 2, `cut at ${at}: ${chat.requests.length} of ${limit}`);
    }
  });
});

/** Runs a report and takes it away from its instance after so many appends; another one continues it. */
async function cutAfter(
  appends: number,
  respond: (request: TurnRequest) => ScriptedTurn,
  submission: ReturnType<typeof question>,
) {
  const inner = await memoryStore();
  let n = 0;
  const store = wrapStore(inner, {
    async append(id: RunId, batch: AppendBatch) {
      const result = await inner.append(id, batch);
      if (++n === appends) await inner.claim(id, { leaseMs: 0, force: true });
      return result;
    },
  });
  const chat = new ScriptedModel(respond);
  await using dying = await openHarness({ chat, tools: [lookup()], store });
  const { run } = await dying.runs.submit(submission);
  await using next = await openHarness({ chat, tools: [lookup()], store: inner });
  const events = decodeFrames(await readAll(next.runs, run));
  const last = events.at(-1);
  assert.ok(last?.type === 'response.completed', `${last?.type}`);
  const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
  const message = last.response.output.findLast((item) => item.type === 'message');
  return {
    text: last.response.output_text,
    deltas,
    appends: n,
    annotations: answerPart(message)?.annotations ?? [],
    chat,
  };
}
