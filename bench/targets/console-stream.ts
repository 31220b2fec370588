import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { consolePages } from '../../src/console/console-pages.ts';

/**
 * The console beside a gateway of one run, whose events come at a steady pace: `node console-stream.ts [events a second]`.
 * 10 000 events and more: thoughts, calls with results, a report in Markdown with citations.
 */
const RATE = Number(process.argv[2] ?? 1000);
const TICK_MS = 16;
const TURNS = 60;
const CALLS = 5;
const DELTAS = 85;
const PARAGRAPHS = 170;

const base = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_795_304_000,
  started_at: 1_795_304_000,
  completed_at: null,
  status: 'in_progress',
  model: 'deep',
  output: [] as object[],
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  error: null,
  incomplete_details: null,
  text: { format: { type: 'text' } },
  reasoning: { effort: 'high' },
  warnings: [],
};

function* eventsOfRun(): Generator<object> {
  const output: object[] = [];
  yield { type: 'response.created', response: base };
  yield { type: 'response.in_progress', response: base };
  for (let turn = 0; turn < TURNS; turn += 1) yield* turnEvents(turn, output);
  yield* answerEvents(output);
  yield { type: 'response.completed', response: { ...base, output, status: 'completed', completed_at: 1_795_304_100 } };
}

function* turnEvents(turn: number, output: object[]): Generator<object> {
  const at = output.length;
  const thought = { id: `rs_${turn}`, type: 'reasoning', summary: [], status: 'completed' };
  yield {
    type: 'response.output_item.added',
    output_index: at,
    item: { ...thought, content: [], status: 'in_progress' },
  };
  let text = '';
  for (let n = 0; n < DELTAS; n += 1) {
    const delta = `step ${n} of turn ${turn} weighs what was found; `;
    text += delta;
    yield { type: 'response.reasoning_text.delta', item_id: thought.id, output_index: at, content_index: 0, delta };
  }
  const done = { ...thought, content: [{ type: 'reasoning_text', text }] };
  output.push(done);
  yield { type: 'response.output_item.done', output_index: at, item: done };
  for (let call = 0; call < CALLS; call += 1) {
    const index = output.length;
    const url = `https://example.org/${turn}/${call}`;
    const found = { title: `Page ${call} of ${turn}`, url, snippet: 'What it says. '.repeat(10), source_id: index };
    const item = {
      id: `tc_${index}`,
      type: 'tool_call',
      name: 'web_search',
      arguments: JSON.stringify({ queries: [`query ${call} of turn ${turn}`] }),
      status: 'in_progress',
    };
    yield { type: 'response.output_item.added', output_index: index, item };
    const ended = { ...item, status: 'completed', result: JSON.stringify({ results: [found] }) };
    output.push(ended);
    yield { type: 'response.output_item.done', output_index: index, item: ended };
  }
}

function* answerEvents(output: object[]): Generator<object> {
  const at = output.length;
  const place = { item_id: 'msg_1', output_index: at, content_index: 0 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant' };
  yield {
    type: 'response.output_item.added',
    output_index: at,
    item: { ...message, status: 'in_progress', content: [] },
  };
  let text = '';
  const annotations: object[] = [];
  for (let paragraph = 0; paragraph < PARAGRAPHS; paragraph += 1) {
    const number = (paragraph % 60) + 1;
    const marker = `[${number}]`;
    const words = `${paragraph % 12 === 0 ? `## Part ${paragraph}\n\n` : ''}The **${paragraph}th** thing that the report says rests on a source that was read in full, with \`code\` and figures such as 12.5 % beside it ${marker}.\n\n`;
    for (const delta of words.match(/\S+\s*/g) ?? []) {
      text += delta;
      yield { type: 'response.output_text.delta', ...place, delta, logprobs: [] };
      if (!delta.startsWith(marker)) continue;
      const start = text.lastIndexOf(marker);
      const url = `https://example.org/${number}/1`;
      const annotation = {
        type: 'url_citation',
        start_index: start,
        end_index: start + marker.length,
        url,
        title: `Page 1 of ${number}`,
        index: number,
        source_id: number,
        verified: true,
      };
      annotations.push(annotation);
      yield {
        type: 'response.output_text.annotation.added',
        ...place,
        annotation_index: annotations.length - 1,
        annotation,
      };
    }
  }
  const item = {
    ...message,
    status: 'completed',
    content: [{ type: 'output_text', text, annotations, logprobs: [] }],
  };
  output.push(item);
  yield { type: 'response.output_item.done', output_index: at, item };
}

const events = [...eventsOfRun()].map((event, index) => ({ ...event, sequence_number: index + 1 }));
const data = [{ id: 'resp_1', status: 'in_progress', model: 'deep', created_at: 1, metadata: { title: 'Bench' } }];
const app = express();
app.use('/console', consolePages({ wellKnownKey: () => 'sk-local' }));
app.get('/v1/models', (_req, res) => void res.json({ data: [{ id: 'deep', supported_apis: ['responses'] }] }));
app.get('/v1/responses', (_req, res) => void res.json({ data, has_more: false }));
app.get(
  '/v1/responses/:id/input_items',
  (_req, res) => void res.json({ data: [{ role: 'user', content: 'What is it?' }] }),
);
app.get('/v1/responses/:id', async (_req, res) => {
  res.type('text/event-stream').flushHeaders();
  const began = performance.now();
  let sent = 0;
  while (sent < events.length && !res.destroyed) {
    const due = Math.min(events.length, Math.ceil(((performance.now() - began) * RATE) / 1000));
    const frames = events.slice(sent, due).map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`);
    sent = due;
    if (frames.length > 0) res.write(frames.join(''));
    await sleep(TICK_MS);
  }
  res.end();
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
