import assert from 'node:assert/strict';
import { isObject, parseJson } from '../../../src/base/json.ts';
import { demoRequest } from '../../../src/demo/request.ts';
import { type DemoTurn, takeTurn } from '../../../src/demo/researcher.ts';
import { loadPrompts } from '../../../src/research/prompts/load-prompts.ts';
import { createFence } from '../../../src/research/text/fence.ts';

const PAGES: Record<string, { title: string; content: string }> = {
  'corpus:///streams.md': {
    title: 'Streams',
    content:
      '# Streams\n\nA dropped stream is resumed with the number of the last event that was seen. ' +
      'The gateway replays what follows from its event log. Nothing is lost when a stream is dropped.\n\n' +
      '- Resumed readers of a stream see the very same bytes as everybody else.\n',
  },
  'corpus:///keys.md': {
    title: 'Keys',
    content: 'A key belongs to a user and names its models.\n\n- Streams of one user are invisible to another user.\n',
  },
  'corpus:///zh.md': {
    title: '中文文档',
    content: '网关把每个事件写入日志。断开的连接可以从最后一个事件继续。没有任何事件会丢失。',
  },
};

const FENCE = createFence('a run');

type Message = Record<string, unknown>;
const TOOLS = ['web_search', 'fetch_url_content'].map((name) => ({ type: 'function', function: { name } }));

function turn(request: object): DemoTurn {
  return takeTurn(demoRequest.parse({ model: 'demo', ...request }));
}

/** The tool result of a call, with source ids as in a run, in the fence of the research loop. */
function resultOf(call: { name: string; arguments: string }, search: (query: string) => string[]): string {
  const args = parseJson(call.arguments);
  assert.ok(isObject(args));
  const urls = Object.keys(PAGES);
  const shown = (url: string) => ({ url, title: PAGES[url]?.title, source_id: urls.indexOf(url) + 1 });
  if (call.name === 'fetch_url_content') {
    const url = String(args.url);
    return FENCE.around(JSON.stringify({ ...shown(url), content: PAGES[url]?.content ?? '', truncated: false }));
  }
  assert.ok(Array.isArray(args.queries));
  const hits = [...new Set(args.queries.flatMap((query) => search(String(query))))];
  return FENCE.around(JSON.stringify({ results: hits.map((url) => ({ ...shown(url), snippet: 'a snippet.' })) }));
}

/** Plays the research loop: the messages of all research turns, and the calls of each. */
function playResearch(question: string, search: (query: string) => string[]) {
  const messages: Message[] = [
    { role: 'system', content: 'You research with tools.' },
    { role: 'user', content: question },
  ];
  const rounds: DemoTurn['calls'][] = [];
  for (;;) {
    const { text, calls, reasoning } = turn({ messages, tools: TOOLS });
    assert.notEqual(reasoning, '');
    const tool_calls = calls.map(({ id, ...call }) => ({ id, type: 'function', function: call }));
    messages.push({ role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls } : {}) });
    if (calls.length === 0) return { messages, rounds };
    rounds.push(calls);
    assert.ok(rounds.length < 10, 'the research never ends');
    for (const call of calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(call, search) });
    }
  }
}

const ask = {
  role: 'user',
  content: loadPrompts().answer({ forced: '', sources: '[1] Streams', format: '', notes: '', charts: false }),
};
const nameOf = (calls: DemoTurn['calls']) => calls.map((call) => call.name);
const QUESTION = 'How is a dropped stream resumed?';
const inStreams = () => ['corpus:///streams.md', 'corpus:///keys.md'];

describe('the demo model in research', () => {
  it('searches for keywords, reads the best hits in parallel, and stops', () => {
    const { rounds, messages } = playResearch(QUESTION, inStreams);
    assert.deepEqual(rounds.map(nameOf), [['web_search'], ['fetch_url_content', 'fetch_url_content']]);
    assert.deepEqual(JSON.parse(String(rounds[0]?.[0]?.arguments)), { queries: ['dropped stream resumed'] });
    assert.equal(messages.at(-1)?.content, 'I am ready to answer.');
  });

  it('searches once more, with other words, if little was found', () => {
    const { rounds } = playResearch(QUESTION, () => []);
    assert.deepEqual(rounds.map(nameOf), [['web_search'], ['web_search']]);
    assert.notEqual(rounds[0]?.[0]?.arguments, rounds[1]?.[0]?.arguments);
  });

  it('reads the pages that only the second search found', () => {
    const search = (query: string) => (query.includes(' ') ? ['corpus:///keys.md'] : inStreams());
    const { rounds } = playResearch(QUESTION, search);
    assert.deepEqual(rounds.map(nameOf), [
      ['web_search'],
      ['fetch_url_content'],
      ['web_search'],
      ['fetch_url_content'],
    ]);
    assert.match(String(rounds[3]?.[0]?.arguments), /streams\.md/);
  });

  it('fetches a URL that the question names', () => {
    const { rounds } = playResearch('What does corpus:///keys.md say about users?', () => []);
    assert.deepEqual(nameOf(rounds[0] ?? []), ['web_search', 'fetch_url_content']);
  });

  it('gives every call of a conversation its own id', () => {
    const ids = playResearch(QUESTION, () => ['corpus:///keys.md'])
      .rounds.flat()
      .map((call) => call.id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('makes one call a turn if parallel calls are off', () => {
    const { messages } = playResearch(QUESTION, inStreams);
    const searched = messages.slice(0, 4);
    const one = turn({ messages: searched, tools: TOOLS, parallel_tool_calls: false });
    assert.equal(one.calls.length, 1);
  });
});

describe("the demo model's answer", () => {
  it('quotes the best sentences with their source numbers, and says that it is a demo', () => {
    const { messages } = playResearch(QUESTION, inStreams);
    const { text, calls } = turn({ messages: [...messages, ask] });
    assert.deepEqual(calls, []);
    assert.match(text, /- A dropped stream is resumed with the number of the last event that was seen\. \[1\]/);
    assert.match(text, /demo model/);
    for (const [, number] of text.matchAll(/\[(\d+)\]/g)) assert.ok(['1', '2'].includes(String(number)));
  });

  it('is the same when written again', () => {
    const { messages } = playResearch(QUESTION, inStreams);
    assert.equal(turn({ messages: [...messages, ask] }).text, turn({ messages: [...messages, ask] }).text);
  });

  it('is written again if it was cut, as the gateway joins what is new', () => {
    const { messages } = playResearch(QUESTION, inStreams);
    const { text } = turn({ messages: [...messages, ask] });
    const soFar = { role: 'assistant', content: text.slice(0, 40) };
    const goOn = { role: 'user', content: loadPrompts().continueAnswer() };
    assert.equal(turn({ messages: [...messages, ask, soFar, goOn] }).text, text);
  });

  it('says so if nothing was found', () => {
    const { messages } = playResearch(QUESTION, () => []);
    assert.match(turn({ messages: [...messages, ask] }).text, /found nothing/);
  });

  it('quotes Chinese documents for a Chinese question', () => {
    const { messages, rounds } = playResearch('断开的连接怎么继续？', () => ['corpus:///zh.md']);
    assert.match(String(rounds[0]?.[0]?.arguments), /连接/);
    assert.match(turn({ messages: [...messages, ask] }).text, /断开的连接可以从最后一个事件继续。 \[3\]/);
  });

  it('belongs to the question before the notes of its research, and quotes what these found', () => {
    const found = '[1] Streams: A dropped stream is resumed with the number of the last event that was seen.';
    const { attempt, compare } = loadPrompts();
    const notes = {
      attempt: attempt({ count: '2', number: '1', beginning: '' }),
      findings: `What earlier tool results say:\n${FENCE.around(`- ${found}`)}`,
      compare: compare({ count: '2', conclusions: FENCE.around(found) }),
    };
    for (const [name, content] of Object.entries(notes)) {
      const messages = [QUESTION, content].map((text) => ({ role: 'user', content: text }));
      const [call] = turn({ messages, tools: TOOLS }).calls;
      assert.match(String(call?.arguments), /dropped/, name);
      assert.doesNotMatch(String(call?.arguments), /researched|results/, name);
      if (name !== 'attempt')
        assert.match(turn({ messages: [...messages, ask] }).text, /is resumed with .*\[1\]/, name);
    }
  });

  it('follows a plan that it proposed, as the user changed it', () => {
    const planner = [{ type: 'function', function: { name: 'update_plan' } }];
    const user = (content: string) => ({ role: 'user', content });
    const [call] = turn({ messages: [user(QUESTION)], tools: planner }).calls;
    const { items } = JSON.parse(String(call?.arguments));
    assert.equal(items.length, 3);
    const plan = items.map(({ text }: { text: string }, at: number) => `${at + 1}. ${text}`).join('\n');
    const thread = [user(QUESTION), { role: 'assistant', content: plan }];
    const queriesAfter = (text: string) =>
      turn({ messages: [...thread, user(text)], tools: TOOLS }).calls[0]?.arguments;
    assert.equal(queriesAfter('go'), '{"queries":["dropped stream resumed"]}');
    assert.equal(queriesAfter('Follow this plan instead:\n\n1. What is a key?'), '{"queries":["key"]}');
  });

  it('belongs to the last question of a conversation', () => {
    const earlier = [
      { role: 'user', content: 'What is a key?' },
      { role: 'assistant', content: 'A key belongs to a user. [2]' },
    ];
    const first = turn({ messages: [...earlier, { role: 'user', content: QUESTION }], tools: TOOLS });
    assert.match(String(first.calls[0]?.arguments), /dropped stream resumed/);
  });

  it('ignores notes that follow tool results', () => {
    const { messages } = playResearch(QUESTION, inStreams);
    const noted = [...messages.slice(0, -1), { role: 'user', content: 'You repeat yourself about penguins.' }];
    assert.match(turn({ messages: noted }).text, /dropped stream is resumed/);
  });
});

describe('the demo model in plain chat', () => {
  const question = [{ role: 'user', content: 'Tell me about penguins' }];

  it('says that it is no language model, also for content parts and without a question', () => {
    assert.match(turn({ messages: question }).text, /demo model.*penguins/);
    assert.match(
      turn({ messages: [{ role: 'user', content: [{ type: 'text', text: 'penguins' }] }] }).text,
      /penguins/,
    );
    assert.match(turn({ messages: [{ role: 'system', content: 'x' }] }).text, /demo model/);
  });

  it('calls no unknown tools unless tool_choice forces it', () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['c', 'f'] } },
      required: ['city', 'days', 'unit'],
    };
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
    assert.deepEqual(turn({ messages: question, tools }).calls, []);
    assert.deepEqual(turn({ messages: question, tools, tool_choice: 'none' }).calls, []);
    const choices = ['required', { type: 'function', function: { name: 'weather' } }];
    for (const tool_choice of choices) {
      const [call] = turn({ messages: question, tools, tool_choice }).calls;
      assert.deepEqual(JSON.parse(String(call?.arguments)), { city: 'Tell me about penguins', days: 0, unit: 'c' });
    }
  });

  it('returns a minimal object that fits a JSON schema', () => {
    const schema = {
      type: 'object',
      properties: {
        answer: { type: 'string' },
        item: { $ref: '#/$defs/item' },
        items: { type: 'array', items: { type: 'string' } },
        ok: { type: 'boolean' },
        size: { anyOf: [{ type: 'number' }, { type: 'null' }] },
        unneeded: { type: 'string' },
      },
      required: ['answer', 'item', 'items', 'ok', 'size'],
      $defs: { item: { type: 'object', properties: { id: { const: 7 } }, required: ['id'] } },
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    const { answer, ...rest } = JSON.parse(turn({ messages: question, response_format }).text);
    assert.match(answer, /demo model/);
    assert.deepEqual(rest, { item: { id: 7 }, items: [], ok: false, size: 0 });
    const object = turn({ messages: question, response_format: { type: 'json_object' } });
    assert.ok(isObject(JSON.parse(object.text)));
  });
});
