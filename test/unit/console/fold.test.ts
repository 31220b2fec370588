import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../../src/base/json.ts';
import { syntheticRun } from '../../support/synthetic-run.ts';

/** The console's modules are plain JavaScript for browsers; these need no browser. */
const load = (name: string) => import(fileURLToPath(new URL(`../../../src/console/page/run/${name}`, import.meta.url)));
const { RunState } = await load('fold.js');
const { findPassage } = await load('sources.js');

const call = (name: string, args: object, result: object, status = 'completed') => ({
  id: `tc_${name}`,
  type: 'tool_call',
  name,
  arguments: JSON.stringify(args),
  result: JSON.stringify(result),
  status,
});

/** The state after these events, beginning with `state`. */
function fold(events: readonly object[], state = new RunState()) {
  for (const [index, event] of events.entries())
    state.apply({ ...event, sequence_number: state.last + 1 || index + 1 });
  return state;
}

describe("the console's RunState", () => {
  const items = [
    {
      id: 'rs_0',
      type: 'reasoning',
      status: 'completed',
      content: [{ type: 'reasoning_text', text: 'First I search.' }],
    },
    call(
      'web_search',
      { queries: ['tea'] },
      {
        results: [
          { title: 'Tea', url: 'https://a.example/', snippet: 'On tea', source_id: 1 },
          { title: 'Coffee', url: 'https://b.example/', snippet: 'On coffee', source_id: 2 },
          { title: 'Gone', url: 'https://c.example/', snippet: '', source_id: 3 },
        ],
      },
    ),
    call(
      'fetch_url_content',
      { url: 'https://a.example/' },
      { url: 'https://a.example/', title: 'All tea', content: 'Tea is old.', source_id: 1 },
    ),
    call(
      'fetch_url_content',
      { url: 'https://c.example/' },
      { error: { message: 'no answer', code: 'timeout' } },
      'failed',
    ),
  ];
  const annotations = [
    {
      type: 'url_citation',
      start_index: 4,
      end_index: 7,
      url: 'https://a.example/',
      title: 'All tea',
      index: 1,
      source_id: 1,
      verified: true,
    },
    {
      type: 'url_citation',
      start_index: 8,
      end_index: 11,
      url: 'https://x.example/',
      title: 'X',
      index: 2,
      source_id: null,
      verified: false,
    },
  ];
  const events = syntheticRun({ id: 'resp_1', answer: 'Old [1] [2]', items, annotations });

  it('tells apart sources that were read, only listed, unreadable and never seen', () => {
    const { sources, status, turns, calls, ended } = fold(events);
    const shown = [...sources.values()].map(({ url, state, cited, number }) => [url, state, cited === true, number]);
    assert.deepEqual(shown, [
      ['https://a.example/', 'read', true, 1],
      ['https://b.example/', 'listed', false, null],
      ['https://c.example/', 'unreadable', false, null],
      ['https://x.example/', 'unseen', true, 2],
    ]);
    assert.deepEqual([status, turns, calls, ended], ['completed', 1, 3, true]);
  });

  it('titles an unreadable source as its citation does', () => {
    const cited = [{ ...annotations[1], url: 'https://c.example/', title: 'A title' }];
    const failed = call(
      'fetch_url_content',
      { url: 'https://c.example/' },
      { error: { message: 'no answer' } },
      'failed',
    );
    const { sources } = fold(
      syntheticRun({ id: 'resp_1', answer: 'Old [1] [2]', items: [failed], annotations: cited }),
    );
    const { title, state, verified } = sources.get('https://c.example/');
    assert.deepEqual([title, state, verified], ['A title', 'unreadable', false]);
  });

  it('numbers citations by source_id in logs without `index`', () => {
    const old = annotations.map(({ index: _, ...annotation }) => annotation);
    const { sources } = fold(syntheticRun({ id: 'resp_1', answer: 'Old [1]', items, annotations: old.slice(0, 1) }));
    assert.equal(sources.get('https://a.example/').number, 1);
  });

  it('adds up deltas, and keeps their text when the whole item follows', () => {
    const part = { output_index: 0, item_id: 'rs_0', content_index: 0 };
    const streamed = [
      events[0] ?? {},
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'rs_0', type: 'reasoning', content: [], summary: [], status: 'in_progress' },
      },
      { type: 'response.reasoning_text.delta', ...part, delta: 'First I ' },
      { type: 'response.reasoning_summary_text.delta', ...part, delta: 'a summary is no thought' },
      { type: 'response.reasoning_text.delta', ...part, delta: 'search.' },
    ];
    const state = fold(streamed);
    assert.deepEqual([state.items[0].text, state.items[0].done, state.written], ['First I search.', undefined, 15]);
    fold([{ type: 'response.output_item.done', output_index: 0, item: items[0] }], state);
    assert.deepEqual([state.items[0].text, state.items[0].done, state.written], ['First I search.', true, 15]);
  });

  it('is the same whether a log is applied in one part or two', () => {
    const whole = fold(events);
    for (let cut = 0; cut <= events.length; cut += 1) {
      const state = fold(events.slice(cut), fold(events.slice(0, cut)));
      assert.deepEqual([state.items, [...state.sources], state.last], [whole.items, [...whole.sources], whole.last]);
    }
  });

  it("shows calls in OpenAI's format as the same calls", () => {
    const openai = [
      {
        id: 'ws_0',
        type: 'web_search_call',
        status: 'completed',
        action: {
          type: 'search',
          query: 'tea',
          queries: ['tea'],
          sources: [{ type: 'url', url: 'https://a.example/' }],
        },
      },
      {
        id: 'ws_1',
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'open_page', url: 'https://a.example/' },
      },
      {
        id: 'ci_0',
        type: 'code_interpreter_call',
        status: 'completed',
        code: '1+1',
        outputs: [{ type: 'logs', logs: '2' }],
      },
      { id: 'mcpl_0', type: 'mcp_list_tools', server_label: 'wiki', tools: [{ name: 'page' }], error: null },
      {
        id: 'mcp_0',
        type: 'mcp_call',
        status: 'failed',
        server_label: 'wiki',
        name: 'page',
        arguments: '{}',
        output: null,
        error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'no such page' }] },
      },
    ];
    const { items: folded, sources, calls } = fold(syntheticRun({ id: 'resp_1', answer: 'Tea', items: openai }));
    assert.deepEqual(
      folded.slice(0, 5).map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`),
      ['call web_search', 'call fetch_url_content', 'call execute_python', 'tools wiki', 'call wiki.page'],
    );
    assert.deepEqual(JSON.parse(folded[2].result), { stdout: '2' });
    assert.equal(folded[4].result, 'no such page');
    assert.equal(calls, 4);
    assert.equal(sources.get('https://a.example/').state, 'read');
  });

  it('shows items of unexpected shapes without failing', () => {
    const odd = [null, 1, 'text', [], {}].map((value) => ({
      id: 'x',
      type: 'odd',
      status: value,
      action: value,
      arguments: undefined,
      name: value,
    }));
    const results = ['', 'null', '[]', '"x"', '{"results":1}', '{"results":[null,1]}', '{"url":1}'].map(
      (result, at) => ({
        id: `tc_${at}`,
        type: 'tool_call',
        name: at % 2 ? 'web_search' : 'fetch_url_content',
        arguments: result,
        result,
        status: 'completed',
      }),
    );
    const { items: folded, ended } = fold(syntheticRun({ id: 'resp_1', answer: 'x', items: [...odd, ...results] }));
    assert.equal(folded.length, 13);
    assert.ok(folded.every((item: unknown) => isObject(item)));
    assert.ok(ended);
  });

  it('lets findPassage find the sentence that a claim rests on, in any script', () => {
    const source = {
      content:
        'Coffee is young.\n\nTea was drunk in China\nlong before that. It spread slowly.\n\n茶在中国已有数千年的历史。咖啡较晚。',
      snippet: '',
    };
    assert.equal(
      findPassage('In China, tea was drunk long before coffee.', source).quote,
      'Tea was drunk in China long before that.',
    );
    assert.equal(findPassage('中国的茶有数千年历史', source).quote, '茶在中国已有数千年的历史。');
    assert.equal(findPassage('Xylophones', source), undefined);
    assert.equal(findPassage('Tea', { content: '', snippet: '' }), undefined);
  });
});
