import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type InterruptionTest, KILLED_KEY, type Killed, testInterruptions } from '../support/killed-gateway.ts';
import { laneProvider, partsOf, turnsIn } from '../support/lane-model.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { type ProviderRequest, stallAfter, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { freshDatabase } from '../support/two-instances.ts';

const PARTS = ['lake depth', 'lake age', 'lake width'];

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
        research: { tools: ['web_search'], report: 'short' },
      },
    },
    keys: [{ id: 'ann', secret: KILLED_KEY }],
  };
}

const lanesOf = ({ output }: ResponseObject) =>
  output.flatMap((item) => (item.type === 'tool_call' && item.lane ? [item.lane] : [])).sort();

const INPUT = 'Tell me all of the lake.';
const files = {
  'corpus/lake.md': '# The lake\n\nThe lake is 1642 metres deep, 25 million years old, 79 km in width.\n',
};
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
    body: { model: 'deep', input: INPUT, research: { lanes: 3 } },
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
    body: { model: 'deep', input: INPUT },
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

function survive(name: string, storeUrl: Killed['storeUrl']): void {
  describe(`lanes (${name})`, function () {
    // A gateway is killed and comes back; a claim has to run out.
    this.timeout(patience(60));
    testInterruptions(
      { storeUrl, configOf, files },
      {
        'each continue after kill -9 without repeating a finished turn or a search': cutLanes(),
        'keep the plan after kill -9 in the turn that follows it, and do not plan again': cutPlan(),
      },
    );
  });
}

survive('SQLite', (folder) => `file:${join(folder, 'data')}`);

describe('over Redis', () => {
  let redis: RedisServer;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  survive('Redis', () => freshDatabase(redis.url, 0));
});
