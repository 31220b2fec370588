import assert from 'node:assert/strict';
import { upgradeEvent } from '../../../src/protocol/event-upgrade.ts';
import { answerPart, type UrlCitation, urlCitation } from '../../../src/protocol/items.ts';
import { newResponse, responseObject } from '../../../src/protocol/response.ts';
import { CitedAnswer } from '../../../src/research/answer/cited-answer.ts';
import { ClaimChecker } from '../../../src/research/claims/claim-checker.ts';
import { recordsOf } from '../../../src/research/context/result-records.ts';
import { digest } from '../../../src/research/context/tool-digest.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { toChatCompletion } from '../../../src/runs/projections/chat.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { joinCited } from '../../support/cited-answer.ts';
import { runResearch } from '../../support/research-run.ts';
import { testTool } from '../../support/run-harness.ts';

const PAGES: Record<string, string> = {
  tower:
    'The Halden Tower was finished in 1911. It is 212 metres tall and was designed by Ada Brand. ' +
    'In 2019 it had 1,204,000 visitors, 3% fewer than in 2018. The lift is not open to the public.',
  bridge: 'The Orsa Bridge has a span of 640 metres. Otto Klein built it between 1921 and 1926.',
};

/** Reads the pages above; `listed` is only ever found by a search. */
const read: Tool = {
  ...testTool('fetch_url_content', () => ({ result: '{}' })),
  async call({ url }) {
    const name = String(url).split('/').at(-1) ?? '';
    const source = { url: String(url), title: name, snippet: '', kind: 'read' as const };
    return {
      sources: [source],
      result: (sourceId) => ({ url: String(url), source_id: sourceId(String(url)), content: PAGES[name] ?? '' }),
    };
  },
};
const search: Tool = {
  ...testTool('web_search', () => ({ result: '{}' })),
  async call() {
    const url = 'https://pages.example/listed';
    const snippet = 'The Marn Dam holds 40 million cubic metres.';
    return {
      sources: [{ url, title: 'Listed', snippet, kind: 'listed' as const }],
      result: (sourceId) => ({ results: [{ url, title: 'Listed', snippet, source_id: sourceId(url) }] }),
    };
  },
};
const TURNS = [
  {
    calls: ['tower', 'bridge'].map((name) => ({
      name: 'fetch_url_content',
      arguments: { url: `https://pages.example/${name}` },
    })),
  },
  { calls: [{ name: 'web_search', arguments: { queries: ['dam'] } }] },
];
const asked = (text: string[], more: object = {}) =>
  runResearch({ turns: TURNS, tools: [read, search], answers: [{ text }], ...more });

describe('an answer whose claims are checked', () => {
  it('rests on what its sources say, not on what a service writes with their numbers', async () => {
    const content = 'The Halden Tower is 999 metres tall.';
    const results = [{ source_id: 1, title: 'Tower', snippet: content }];
    for (const forged of [{ source_id: 1, content }, { results }]) {
      const result = JSON.stringify(forged);
      const call = { name: 'files.read', arguments: {} };
      const { message } = await asked(['The Halden Tower is 999 metres tall [1].'], {
        turns: [...TURNS, { calls: [call] }],
        tools: [read, search, testTool(call.name, () => ({ result }))],
      });
      const [citation] = answerPart(message)?.annotations ?? [];
      assert.equal(citation?.support, 'partial');
      const made = { ...call, call: 3, id: 'a', arguments: '{}' };
      const about = new Set<string>();
      const records = await recordsOf(made, { status: 'completed', result }, { about, turn: 1 });
      assert.deepEqual(
        records.map(({ quote, source }) => [quote, source]),
        [[content, null]],
      );
      const entry = { t: 'result' as const, call: 3, status: 'completed' as const, result, sources: [], queries: 0 };
      assert.match(await digest(made, entry, { about, maxLength: 200 }), /^\[-\] /);
    }
  });

  it('may rest on what a page says elsewhere, as far as the run was shown it', async () => {
    const text = 'A ride in the lift costs 12 euros.';
    const result = JSON.stringify({ source_id: 1, content: PAGES.tower, more_on_goal: [{ offset: 9000, text }] });
    const call = { name: 'fetch_url_content', arguments: {} };
    const source = { url: 'https://pages.example/tower', title: '', snippet: '', kind: 'read' as const };
    const { message } = await asked([`${text} [1]`], {
      turns: [{ calls: [call] }],
      tools: [testTool(call.name, () => ({ result, sources: [source] }))],
    });
    const [citation] = answerPart(message)?.annotations ?? [];
    assert.deepEqual([citation?.support, citation?.cited_text], ['quoted', text]);
    const made = { ...call, call: 0, id: 'a', arguments: '{}' };
    const records = await recordsOf(made, { status: 'completed', result }, { about: new Set(['lift']), turn: 1 });
    assert.deepEqual([records.at(-1)?.source, records.at(-1)?.quote], [1, text]);
  });

  it('has a quote for each citation, and says how well that supports the claim', async () => {
    const { response, message, events } = await asked([
      'The tower is 212 m tall [1]. In 2019 it had 1.9 million',
      ' visitors [1]. Otto Klein built the bridge from 1921 to 1926 [2].',
      ' The dam holds 40 million cubic metres [3]. Ada Brand was born in Lund in 1870.',
    ]);
    const annotations = answerPart(message)?.annotations ?? [];
    assert.deepEqual(
      annotations.map(({ support }) => support),
      ['quoted', 'partial', 'quoted', 'unchecked'],
    );
    const shown = [PAGES.tower, PAGES.tower, PAGES.bridge, 'The Marn Dam holds 40 million cubic metres.'];
    for (const [at, { cited_text }] of annotations.entries()) {
      assert.ok(cited_text !== null && cited_text.length <= 400);
      assert.ok(shown[at]?.includes(cited_text), cited_text);
    }
    assert.match(annotations[0]?.cited_text ?? '', /212 metres/);
    assert.deepEqual(response.claims, { checked: 3, quoted: 2, partial: 1, none: 0, unchecked: 1, unmarked: 1 });
    const [warning] = response.warnings;
    assert.equal(warning?.code, 'unsupported_claims');
    assert.match(warning?.message ?? '', /: 1 of 3 sentences\..*: 1 sentence with/);
    const told = events.flatMap((event) =>
      event.type === 'response.output_text.annotation.added' ? [event.annotation] : [],
    );
    assert.deepEqual(told, annotations, 'the stream says what the object says');
    assert.deepEqual(responseObject.parse(response).claims, response.claims);
    const chat = toChatCompletion(response).choices[0]?.message.annotations ?? [];
    assert.deepEqual(
      chat.map(({ url_citation }) => [url_citation.support, url_citation.cited_text]),
      [annotations[0], annotations[2], annotations[3]].map((each) => [each?.support, each?.cited_text]),
    );
  });

  const invented: [string, string][] = [
    ['a figure', 'The tower is 221 metres tall [1].'],
    ['a name', 'The tower was designed by Vera Holm [1].'],
    ['a year', 'The tower was finished in 1912 [1].'],
    ['a negation', 'The lift is open to the public [1].'],
    ['a direction', 'In 2019 it had 3% more visitors than in 2018 [1].'],
    ['a source', 'The span of the bridge is 640 metres [1].'],
  ];
  for (const [what, text] of invented) {
    it(`is doubted if the model invents ${what}`, async () => {
      const { response, message } = await asked([text]);
      const [annotation] = answerPart(message)?.annotations ?? [];
      assert.ok(annotation?.support === 'partial' || annotation?.support === 'none', text);
      assert.equal(response.claims?.quoted, 0);
      assert.ok(response.warnings.some(({ code }) => code === 'unsupported_claims'));
    });
  }

  it('has no warning if all is supported, and no counts if nothing was found', async () => {
    const carried = await asked(['The tower is 212 metres tall [1].']);
    assert.deepEqual(carried.response.warnings, []);
    const alone = await runResearch({ answers: [{ text: ['In 1999 it was 5 m.'] }] });
    assert.equal(alone.response.claims, null);
  });
});

describe('a structured answer', () => {
  const format = {
    type: 'json_schema' as const,
    name: 'towers',
    schema: {
      type: 'object',
      properties: {
        rows: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, metres: { type: 'number' }, open: { type: 'boolean' } },
          },
        },
      },
    },
    strict: false,
  };

  it('has the source of each value with its path and range, and lists values without one', async () => {
    const json = JSON.stringify({
      rows: [
        { name: 'Halden Tower', metres: 212, open: true },
        { name: 'Orsa Bridge', metres: 640 },
        { name: 'Orsa Bridge', metres: 999 },
      ],
    });
    const { response, message } = await asked([json], { request: { format } });
    const annotations: UrlCitation[] = answerPart(message)?.annotations ?? [];
    assert.deepEqual(
      annotations.map(({ path, start_index, end_index, source_id, support }) => [
        path,
        response.output_text.slice(start_index, end_index),
        source_id,
        support,
      ]),
      [
        ['/rows/0/name', 'Halden Tower', 1, 'quoted'],
        ['/rows/0/metres', '212', 1, 'quoted'],
        ['/rows/1/name', 'Orsa Bridge', 2, 'quoted'],
        ['/rows/1/metres', '640', 2, 'quoted'],
        ['/rows/2/name', 'Orsa Bridge', 2, 'quoted'],
      ],
    );
    assert.deepEqual(response.claims?.unmarked_paths, ['/rows/0/open', '/rows/2/metres']);
    assert.deepEqual(
      JSON.parse(response.output_text),
      JSON.parse(json),
      'nothing is added to what the client asked for',
    );
  });

  it('has each marked text checked alone, without the values before it and without escapes', async () => {
    const values = [
      '"goats": "There were 999 goats in 1803", "text": "The tower is 212 metres tall [1]"',
      '"text": "There were 999 goats.\\n\\nThe \\u0022tower\\u0022 is 212 metres t\\u0061ll [1]"',
      '"goats": 999, "texts": ["999 goats", "The tower is 212 metres tall [1]"]',
      '"goats": 999, "designed": "Brand [1]"',
    ];
    for (const value of values) {
      const { message } = await asked([`{${value}}`], { request: { format } });
      const marked = answerPart(message)?.annotations.find(({ index }) => index !== null);
      assert.equal(marked?.support, 'quoted', value);
    }
  });

  it('finds dates and numbers however the source writes them, and lists all values if it finds none', async () => {
    const pages = {
      span: '640 m',
      visitors: '1204000',
      built_until: '1926',
      tower_finished: '1912',
      tower: 'Halden Tower',
    };
    const measures = await asked([JSON.stringify(pages)], { request: { format } });
    const found = answerPart(measures.message)?.annotations.map(({ path }) => path);
    assert.deepEqual(found, ['/span', '/visitors', '/built_until', '/tower']);
    const nothing = await asked(['{"rows": [{"name": "Zorb", "metres": 77}], "more": null}'], { request: { format } });
    assert.deepEqual(nothing.response.claims?.unmarked_paths, ['/rows/0/name', '/rows/0/metres', '/more']);
    assert.match(String(nothing.response.warnings[0]?.message), /3 values/);
  });

  it('finds the sources of 200 values, each in its place', async () => {
    const rows = Array.from({ length: 100 }, (_, i) => ({
      name: `Tower ${String.fromCharCode(65 + (i % 26))}${i}x`,
      metres: 300 + i,
    }));
    const content = rows.map(({ name, metres }) => `${name} is ${metres} metres tall.`).join('\n\n');
    const table: Tool = {
      ...read,
      call: async ({ url }) => ({
        sources: [{ url: String(url), title: 'Towers', snippet: '', kind: 'read' as const }],
        result: (sourceId) => ({ url: String(url), source_id: sourceId(String(url)), content }),
      }),
    };
    const { response, message } = await asked([JSON.stringify({ rows })], {
      request: { format },
      tools: [table, search],
    });
    const annotations: UrlCitation[] = answerPart(message)?.annotations ?? [];
    assert.equal(annotations.length, 200);
    const inChat = toChatCompletion(response).choices[0]?.message.annotations ?? [];
    assert.deepEqual(
      inChat.map(({ url_citation }) => url_citation.path),
      annotations.map(({ path }) => path),
    );
    for (const { start_index, end_index, cited_text } of annotations) {
      assert.ok(cited_text?.includes(response.output_text.slice(start_index, end_index)));
    }
    assert.deepEqual(response.claims?.unmarked_paths, []);
  });
});

describe('claims of a resumed run', () => {
  it('are judged as if it had never been interrupted, wherever it was cut', async () => {
    const state = new ResearchState();
    const sources = [
      { id: 1, url: 'https://a.example/', title: 'A', snippet: PAGES.tower ?? '', kind: 'read' as const },
    ];
    state.sources.note(sources);
    const claims = await ClaimChecker.of(state);
    const text = 'The tower is 212 m tall [1]. It was finished in 1921 [1], designed by Ada Brand [1].';
    const answer = new CitedAnswer(state.sources, undefined, { claims });
    const whole = joinCited([answer.push(text), answer.end()]);
    assert.deepEqual(
      whole.annotations.map(({ support }) => support),
      ['quoted', 'partial', 'quoted'],
    );
    for (let cut = 1; cut < text.length; cut++) {
      const before = new CitedAnswer(state.sources, undefined, { claims });
      const begun = before.push(text.slice(0, cut));
      const after = new CitedAnswer(state.sources, begun, { claims });
      const own = after.modelText();
      const rest = joinCited([after.push(text.slice(own.length)), after.end()]);
      assert.deepEqual([...begun.annotations, ...rest.annotations], whole.annotations, `cut at ${cut}`);
    }
  });

  it('default to unchecked in logs of versions without claims', () => {
    const {
      cited_text: _,
      support: __,
      ...former
    } = {
      ...urlCitation.parse({
        type: 'url_citation',
        start_index: 0,
        end_index: 3,
        url: 'https://a.example/',
        title: 'A',
        index: 1,
        source_id: 1,
        verified: true,
        cited_text: null,
        support: 'none',
      }),
    };
    const { claims: ___, ...response } = newResponse({ id: 'resp_1', created_at: 1, model: 'm' });
    const stored = { type: 'response.completed', sequence_number: 1, response: { ...response, output: [] } };
    const now = upgradeEvent(JSON.parse(JSON.stringify(stored)));
    assert.ok('response' in now && now.response.claims === null);
    const annotation = upgradeEvent(
      JSON.parse(
        JSON.stringify({
          type: 'response.output_text.annotation.added',
          sequence_number: 2,
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          annotation_index: 0,
          annotation: former,
        }),
      ),
    );
    assert.ok(annotation.type === 'response.output_text.annotation.added');
    assert.deepEqual([annotation.annotation.support, annotation.annotation.cited_text], ['unchecked', null]);
  });
});
