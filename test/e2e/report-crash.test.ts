import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import { chart, fenced } from '../support/charts.ts';
import { KILLED_KEY, type Killed, testInterruptions } from '../support/killed-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { type ProviderRequest, type Script, stallAfter, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { freshDatabase } from '../support/two-instances.ts';

const OUTLINE = JSON.stringify([
  { heading: 'In short', aim: 'The answer.', records: [1] },
  { heading: 'Depth', aim: 'How deep it is.', records: [1] },
  { heading: 'Age', aim: 'How old it is.', records: [1] },
]);
const WHOLE = '## In short\n\nPart 1 [1].\n\n## Depth\n\nPart 2 [1].\n\n## Age\n\nPart 3 [1].';

function configOf(provider: { url: string }, { storeUrl, folder }: { storeUrl: string; folder: string }) {
  return {
    server: { port: 0, heartbeat_seconds: 0.2 },
    store: { url: storeUrl },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
    tools: { web_search: { provider: 'local', folder: join(folder, 'corpus') } },
    models: {
      deep: {
        kind: 'research',
        routes: [{ provider: 'scripted', model: 'm' }],
        research: { tools: ['web_search'], plan: 'off' },
      },
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

function survives(name: string, storeUrl: Killed['storeUrl']): void {
  describe(`a report by sections (${name})`, function () {
    // A gateway is killed and comes back; a claim has to run out.
    this.timeout(patience(60));
    const body = (research: object) => ({
      model: 'deep',
      input: 'How deep is the lake?',
      research: { report: 'full', verify: false, ...research },
    });
    const depth = chart({ data: { values: [{ lake: 'The lake', depth: 1642 }] } });
    const outline = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const files = {
      'corpus/lake.md': '# The lake\n\nThe lake is 1642 metres deep. The lake is 25 million years old.\n',
    };

    testInterruptions(
      { storeUrl, configOf, files },
      {
        'continues in the section that kill -9 cut, and repeats no finished one': {
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
        'shows a chart once and whole after kill -9 inside its block': {
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
        'plans again after kill -9 in its outline, and repeats no search': {
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
        'shows a section under verification once after kill -9 in the next one': {
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
      },
    );
  });
}

survives('SQLite', (folder) => `file:${join(folder, 'data')}`);

describe('over Redis', () => {
  let redis: RedisServer;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  survives('Redis', () => freshDatabase(redis.url, 0));
});
