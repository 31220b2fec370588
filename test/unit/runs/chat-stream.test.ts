import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { reasoningStep } from '../../../src/protocol/chat.ts';
import type { RunEvent, UnnumberedEvent } from '../../../src/protocol/events.ts';
import type { ToolCallItem } from '../../../src/protocol/items.ts';
import { searchResults, toReasoningStep } from '../../../src/runs/projections/chat-steps.ts';
import { chatStream } from '../../../src/runs/projections/chat-stream.ts';
import { PLAIN_STREAM } from '../../../src/runs/projections/plain-chat.ts';
import type { LogBatch } from '../../../src/store/run-store.ts';
import { addDelta } from '../../support/python-deltas.ts';

const thought = (output_index: number, delta: string): UnnumberedEvent => ({
  type: 'response.reasoning_text.delta',
  output_index,
  item_id: `rs_${output_index}`,
  content_index: 0,
  delta,
});

const search = (output_index: number, query: string): UnnumberedEvent => {
  const results = [{ title: query, url: `https://${query}.example/`, snippet: query }];
  const item: ToolCallItem = {
    id: `tc_${output_index}`,
    type: 'tool_call',
    name: 'web_search',
    arguments: JSON.stringify({ queries: [query] }),
    result: JSON.stringify({ results }),
    status: 'completed',
  };
  return { type: 'response.output_item.done', output_index, item };
};

const began = (output_index: number, name: string, args: object): UnnumberedEvent => {
  const call = { id: `tc_${output_index}`, type: 'tool_call' as const, name, arguments: JSON.stringify(args) };
  return { type: 'response.output_item.added', output_index, item: { ...call, status: 'in_progress' } };
};

async function* logOf(events: readonly UnnumberedEvent[]): AsyncGenerator<LogBatch> {
  for (const [index, event] of events.entries()) {
    const numbered: RunEvent = { ...event, sequence_number: index + 1 };
    const frames = Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`);
    yield { first: index + 1, last: index + 1, frames, end: false };
  }
}

/** The steps of a chat stream as the official Python SDK's helper joins them. */
async function joinedSteps(events: readonly UnnumberedEvent[]): Promise<unknown[]> {
  const log = () => logOf(events);
  const sum: Record<string, unknown> = {};
  for await (const chunk of chatStream(log(), { id: newRunId(), model: 'deep', created: 0 })) {
    addDelta(sum, { ...chunk.choices[0]?.delta });
  }
  assert.ok(Array.isArray(sum.reasoning_steps));
  return sum.reasoning_steps;
}

describe('a chat stream of a plain model', () => {
  it('separates thoughts and notes as the whole answer does', async () => {
    const message = (output_index: number, phase: 'commentary' | 'final_answer', text: string): UnnumberedEvent[] => {
      const item_id = `msg_${output_index}`;
      const item = {
        id: item_id,
        type: 'message',
        role: 'assistant',
        phase,
        status: 'in_progress',
        content: [],
      } as const;
      return [
        { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
        { type: 'response.output_text.delta', output_index, item_id, content_index: 0, delta: text, logprobs: [] },
      ];
    };
    const events = [
      // A thought that was cut off, and the one of the next route.
      ...[thought(0, 'One '), thought(0, 'two.'), thought(1, 'Three.')],
      ...[...message(2, 'commentary', 'A note.'), ...message(3, 'final_answer', 'The answer.')],
    ];
    const options = { id: newRunId(), model: 'plain', created: 0 };
    let thoughts = '';
    let text = '';
    for await (const { choices } of chatStream(logOf(events), options, PLAIN_STREAM)) {
      thoughts += choices[0]?.delta.reasoning_content ?? '';
      text += choices[0]?.delta.content ?? '';
    }
    assert.deepEqual([thoughts, text], ['One two.\n\nThree.\n\nA note.', 'The answer.']);
  });
});

interface Step {
  index: number;
  thought?: string;
  web_search?: { search_keywords: string[] };
}

const summary = (steps: readonly unknown[]) =>
  steps.map((step) => {
    const { index, thought, web_search } = step as Step;
    return [index, thought ?? web_search?.search_keywords.join()];
  });

describe('the steps of a chat stream', () => {
  it('has no half of a character at the end of a snippet', () => {
    const results = [{ title: 'A', url: 'https://a.example/', snippet: `${'a'.repeat(299)}😀` }];
    const item: ToolCallItem = {
      id: 'tc_0',
      type: 'tool_call',
      name: 'web_search',
      arguments: '{"queries":["a"]}',
      result: JSON.stringify({ results }),
      status: 'completed',
    };
    assert.ok(searchResults([item])[0]?.snippet.isWellFormed());
  });

  it('have texts and lists of texts, whatever the model wrote as arguments', () => {
    const stepOf = (name: string, args: object) => {
      const common = { id: 'tc_0', type: 'tool_call', status: 'completed', result: '{"title":5}' } as const;
      return reasoningStep.parse(toReasoningStep({ ...common, name, arguments: JSON.stringify(args) }, 0));
    };
    for (const args of [{ queries: ['a', 'b'] }, { query: ['a', 'b'] }, { queries: 'a', q: 'b' }]) {
      assert.deepEqual(stepOf('web_search', args), {
        index: 0,
        type: 'web_search',
        web_search: { search_keywords: ['a', 'b'], search_results: [] },
      });
    }
    for (const odd of [5, {}, [null]]) {
      stepOf('web_search', { queries: odd });
      stepOf('fetch_url_content', { url: odd });
      stepOf('execute_python', { code: odd });
    }
  });

  it('are joined by index in an SDK helper, with the fragments of a thought in one step', async () => {
    const steps = await joinedSteps([thought(0, 'I '), thought(0, 'look.'), search(1, 'a'), thought(2, 'Done.')]);
    assert.deepEqual(summary(steps), [
      [0, 'I look.'],
      [1, 'a'],
      [2, 'Done.'],
    ]);
  });

  it('stay apart if parallel calls finish out of order', async () => {
    const steps = await joinedSteps([
      thought(0, 'All.'),
      search(3, 'c'),
      search(1, 'a'),
      search(2, 'b'),
      thought(4, '.'),
    ]);
    assert.deepEqual(
      summary(steps).map(([, said]) => said),
      ['All.', 'c', 'a', 'b', '.'],
    );
  });

  it('stay apart after an item without a step', async () => {
    const steps = await joinedSteps([search(1, 'a'), thought(2, 'So '), thought(2, 'it is.')]);
    assert.deepEqual(
      summary(steps).map(([, said]) => said),
      ['a', 'So it is.'],
    );
  });
});

describe('reasoning_content of a chat stream', () => {
  async function textOf(events: readonly UnnumberedEvent[]): Promise<string> {
    let text = '';
    for await (const chunk of chatStream(logOf(events), { id: newRunId(), model: 'deep', created: 0 }))
      text += chunk.choices[0]?.delta.reasoning_content ?? '';
    return text;
  }

  it('separates thoughts by a blank line', async () => {
    assert.equal(
      await textOf([thought(0, 'One '), thought(0, 'thought.'), thought(1, 'Two.')]),
      'One thought.\n\nTwo.',
    );
  });

  it('has a line for each tool call as it starts', async () => {
    const events = [
      thought(0, 'I look.'),
      began(1, 'web_search', { queries: ['tea\nold', 'coffee'] }),
      began(2, 'fetch_url_content', { url: 'https://tea.example/' }),
      began(3, 'execute_python', { code: 'print(1)' }),
      search(1, 'tea'),
      began(4, 'wiki.find', {}),
      thought(5, 'So.'),
    ];
    assert.equal(
      await textOf(events),
      'I look.\n\nSearching: tea old; coffee\nReading: https://tea.example/\nRunning Python\nCalling: wiki.find\n\nSo.',
    );
  });

  it('escapes Markdown and HTML in the lines of tool calls', async () => {
    const image = '![a](https://evil.example/?said)';
    const events = [
      began(1, 'web_search', { queries: [image, '<img src=https://evil.example/?said>'] }),
      began(2, 'fetch_url_content', { url: image }),
      began(3, image, {}),
    ];
    const text = await textOf(events);
    assert.doesNotMatch(text, /!\[|<img/);
    assert.match(text, /^Searching: !\\\[a/);
  });
});
