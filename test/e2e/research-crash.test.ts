import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { chart, fenced } from '../support/charts.ts';
import { type InterruptionTest, KILLED_KEY, testInterruptions } from '../support/killed-gateway.ts';
import { laneProvider, partsOf, turnsIn } from '../support/lane-model.ts';
import { type ProviderRequest, type Script, stallAfter, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const OUTLINE = JSON.stringify([
  { heading: 'In short', aim: 'The answer.', records: [1] },
  { heading: 'Depth', aim: 'How deep it is.', records: [1] },
  { heading: 'Age', aim: 'How old it is.', records: [1] },
]);
const WHOLE = '## In short\n\nPart 1 [1].\n\n## Depth\n\nPart 2 [1].\n\n## Age\n\nPart 3 [1].';

const PARTS = ['lake depth', 'lake age', 'lake width'];
const files = {
  'corpus/lake.md': '# The lake\n\nThe lake is 1642 metres deep, 25 million years old, 79 km in width.\n',
};

function configOf(provider: { url: string }, { storeUrl, folder }: { storeUrl: string; folder: string }) {
  const common = { kind: 'research', routes: [{ provider: 'scripted', model: 'm' }] };
  return {
    server: { port: 0, heartbeat_seconds: 0.2 },
    store: { url: storeUrl },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
    tools: { web_search: { provider: 'local', folder: join(folder, 'corpus') } },
    models: {
      reporting: { ...common, research: { tools: ['web_search'], plan: 'off' } },
      planning: { ...common, research: { tools: ['web_search'], report: 'short' } },
    },
    keys: [{ id: 'ann', secret: KILLED_KEY }],
  };
}

const system = ({ body }: ProviderRequest) => String(body.messages?.[0]?.content);
const messagesOf = ({ body }: ProviderRequest) => JSON.stringify(body.messages);
const isSection = (request: ProviderRequest, n: number) =>
  system(request).startsWith('You write one section') && messagesOf(request).includes(`Write section ${n} of`);

/** Searches, plans and writes three sections; the first script that `once` returns replaces the usual one. */
function writer(once: (request: ProviderRequest) => Script | undefined, onwards = ' and on.') {
  let hung = false;
  return (request: ProviderRequest): Script => {
    const own = hung ? undefined : once(request);
    hung ||= own !== undefined;
    if (own) return own;
    for (const n of [1, 2, 3]) {
      if (!isSection(request, n)) continue;
      return turn({ text: /was interrupted/.test(messagesOf(request)) ? onwards : `Part ${n} [1].` });
    }
    if (request.body.tool_choice === 'none') return turn({ text: OUTLINE });
    const hasSearched = request.body.messages?.some(({ role }) => role === 'tool');
    if (hasSearched) return turn({ text: 'I am ready.' });
    const call = { id: 'call_1', name: 'web_search', arguments: '{"queries":["lake depth"]}' };
    return turn({ toolCalls: [call] });
  };
}

const says = (text: string) => (event: RunEvent) =>
  event.type === 'response.output_text.delta' && event.delta.includes(text);

const lanesOf = ({ output }: ResponseObject) =>
  output.flatMap((item) => (item.type === 'tool_call' && item.lane ? [item.lane] : [])).sort();

const INPUT = 'Tell me all of the lake.';
const turnsOf = ({ body }: ProviderRequest) => turnsIn({ messages: body.messages ?? [] });
const partOf = ({ body }: ProviderRequest) => partsOf({ messages: body.messages ?? [] })?.[0];

/** The kill comes when lane 1 has finished, lane 2 is in its last turn and lane 3 in its first. */
function cutLanes(): InterruptionTest {
  const model = laneProvider(PARTS);
  const hung = new Set<string>();
  const reached = Promise.withResolvers<void>();
  return {
    seen: (event) =>
      event.type === 'response.output_item.done' &&
      event.item.type === 'reasoning' &&
      event.item.lane === 1 &&
      JSON.stringify(event.item).includes('I am ready'),
    reached: reached.promise,
    body: { model: 'planning', input: INPUT, research: { lanes: 3 } },
    respond: (request) => {
      const part = partOf(request) ?? '';
      const n = PARTS.indexOf(part) - (turnsOf(request) === 0 ? 1 : 0);
      if (n < 1 || hung.has(part)) return model(request);
      hung.add(part);
      // Later requests come from the next process.
      if (hung.size === 2) reached.resolve();
      return stallAfter(1, { reasoning: 'one two three four' });
    },
    check({ response, requests }) {
      assert.equal(response.status, 'completed');
      assert.match(response.output_text, /All of it is known \[1\]/);
      assert.deepEqual(lanesOf(response), [1, 2, 3]);
      assert.equal(response.usage.num_search_queries, 3);
      assert.equal(
        response.plan?.items.every(({ status }) => status === 'done'),
        true,
      );
      const research = (part: string) => requests.filter((request) => partOf(request) === part).map(turnsOf);
      assert.deepEqual(research('lake depth'), [0, 1]);
      assert.deepEqual(research('lake age'), [0, 1, 1], 'its last turn was cut');
      assert.deepEqual(research('lake width'), [0, 0, 1], 'its first turn was cut');
    },
  };
}

function cutPlan(): InterruptionTest {
  const reached = Promise.withResolvers<void>();
  const model = laneProvider(PARTS);
  let hung = false;
  return {
    seen: 'response.output_item.done',
    reached: reached.promise,
    body: { model: 'planning', input: INPUT },
    respond: (request) => {
      if (turnsOf(request) === 0) return model(request);
      if (hung) return turn({ text: 'That is all.' });
      hung = true;
      reached.resolve();
      return stallAfter(1, { reasoning: 'one two three four' });
    },
    check({ response, requests }) {
      assert.deepEqual(
        response.plan?.items.map(({ text }) => text),
        PARTS,
      );
      assert.equal(response.output.filter((item) => item.type === 'tool_call').length, 1, 'planned once');
      assert.equal(requests.filter((request) => turnsOf(request) === 0).length, 1);
      for (const { body } of requests.slice(1)) assert.match(JSON.stringify(body.messages), /1\. \[open\] lake depth/);
    },
  };
}

describe('a research run with a store on disk', function () {
  // A gateway is killed and comes back; a claim has to run out.
  this.timeout(patience(60));
  const body = (research: object) => ({
    model: 'reporting',
    input: 'How deep is the lake?',
    research: { report: 'full', verify: false, ...research },
  });
  const depth = chart({ data: { values: [{ lake: 'The lake', depth: 1642 }] } });
  const outline = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();

  testInterruptions(
    { storeUrl: (folder) => `file:${join(folder, 'data')}`, configOf, files },
    {
      'a report continues in the section that kill -9 cut, and repeats no finished one': {
        seen: says('two'),
        body: body({}),
        respond: writer((request) =>
          isSection(request, 2) ? stallAfter(4, { text: 'one two three four five' }) : undefined,
        ),
        check({ response, requests }) {
          assert.match(
            response.output_text,
            /^## In short\n\nPart 1 \[1\]\.\n\n## Depth\n\none two.* and on\.\n\n## Age\n\nPart 3 \[1\]\.$/,
          );
          assert.equal(requests.filter((request) => isSection(request, 1)).length, 1);
          assert.equal(requests.filter((request) => isSection(request, 2)).length, 2);
        },
      },
      'a report shows a chart once and whole after kill -9 inside its block': {
        seen: says('1642 metres'),
        body: body({ charts: true }),
        respond: writer(
          (request) =>
            isSection(request, 2)
              ? stallAfter(30, { text: `The lake is 1642 metres deep [1].\n\n${fenced(depth)}`, chunks: 40 })
              : undefined,
          fenced(depth),
        ),
        check({ response, requests }) {
          assert.match(
            response.output_text,
            /## Depth\n\nThe lake is 1642 metres deep \[1\]\.\n\n```vega-lite\n[^`]*"depth": ?1642[^`]*\n```\n\n\n## Age/,
          );
          assert.equal(response.output_text.split('vega-lite').length, 2);
          assert.equal(requests.filter((request) => isSection(request, 2)).length, 2);
        },
      },
      'a report plans its sections again after kill -9 in its outline, and repeats no search': {
        seen: 'response.in_progress',
        reached: outline.promise,
        body: body({}),
        respond: writer((request) => {
          if (request.body.tool_choice !== 'none') return undefined;
          outline.resolve();
          return stallAfter(1, { text: OUTLINE });
        }),
        check({ response, requests }) {
          assert.equal(response.output_text, WHOLE);
          assert.equal(requests.length, 2 + 2 + 3);
        },
      },
      'a report shows a section under verification once after kill -9 in the next one': {
        seen: says('## In short'),
        reached: second.promise,
        body: body({ verify: true }),
        respond: writer((request) => {
          if (!isSection(request, 2)) return undefined;
          second.resolve();
          return stallAfter(2, { text: 'one two three four five' });
        }),
        check({ response, requests }) {
          assert.equal(response.output_text, WHOLE);
          assert.equal(requests.filter((request) => isSection(request, 1)).length, 1);
          assert.equal(requests.filter((request) => isSection(request, 2)).length, 2);
        },
      },
      'lanes each continue after kill -9 without repeating a finished turn or a search': cutLanes(),
      'a plan is kept after kill -9 in the turn that follows it, and not made again': cutPlan(),
    },
  );
});
