import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type Cut, cutGateway, KILLED_KEY } from '../support/killed-gateway.ts';
import { laneProvider, partsOf, turnsIn } from '../support/lane-model.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { type ProviderRequest, type Script, stallAfter, turn } from '../support/scripted-provider.ts';
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

function survive(name: string, storeUrl: Cut['storeUrl']): void {
  describe(`lanes (${name})`, function () {
    this.timeout(patience(60));

    it('go on behind kill -9, each where it was: no turn that ended and no search is made again', async () => {
      // The first lane has ended its work, the second is asked for its last turn, the third for its first.
      const model = laneProvider(PARTS);
      const hung = new Set<string>();
      const reached = Promise.withResolvers<void>();
      const respond = (request: ProviderRequest): Script => {
        const messages = request.body.messages ?? [];
        const [part = ''] = partsOf({ messages }) ?? [];
        const n = PARTS.indexOf(part) - (turnsIn({ messages }) === 0 ? 1 : 0);
        if (n < 1 || hung.has(part)) return model(request);
        hung.add(part);
        // What comes behind is the next process's.
        if (hung.size === 2) reached.resolve();
        return stallAfter(1, { reasoning: 'one two three four' });
      };
      const isReady = (event: RunEvent) =>
        event.type === 'response.output_item.done' &&
        event.item.type === 'reasoning' &&
        event.item.lane === 1 &&
        JSON.stringify(event.item).includes('I am ready');
      const { response, requests } = await cutGateway(isReady, {
        storeUrl,
        configOf,
        body: { model: 'deep', input: 'Tell me all of the lake.', research: { lanes: 3 } },
        files: {
          'corpus/lake.md': '# The lake\n\nThe lake is 1642 metres deep, 25 million years old, 79 km in width.\n',
        },
        respond,
        reached: reached.promise,
      });
      assert.equal(response.status, 'completed');
      assert.match(response.output_text, /All of it is known \[1\]/);
      assert.deepEqual(lanesOf(response), [1, 2, 3]);
      assert.equal(response.usage.num_search_queries, 3);
      assert.equal(
        response.plan?.items.every(({ status }) => status === 'done'),
        true,
      );
      const research = (part: string) =>
        requests
          .filter(({ body }) => partsOf({ messages: body.messages ?? [] })?.[0] === part)
          .map(({ body }) => turnsIn({ messages: body.messages ?? [] }));
      assert.deepEqual(research('lake depth'), [0, 1]);
      assert.deepEqual(research('lake age'), [0, 1, 1], 'its last turn was cut');
      assert.deepEqual(research('lake width'), [0, 0, 1], 'its first turn was cut');
    });
  });
}

const sqlite: Cut['storeUrl'] = (folder) => `file:${join(folder, 'data')}`;
survive('SQLite', sqlite);

describe('a plan', function () {
  this.timeout(patience(60));

  it('is there behind kill -9 in the turn that follows it, and is not made again', async () => {
    const reached = Promise.withResolvers<void>();
    const model = laneProvider(PARTS);
    let hung = false;
    const { response, requests } = await cutGateway('response.output_item.done', {
      storeUrl: sqlite,
      configOf,
      body: { model: 'deep', input: 'Tell me all of the lake.' },
      files: { 'corpus/lake.md': '# The lake\n\nIt is deep.\n' },
      reached: reached.promise,
      respond: (request) => {
        const messages = request.body.messages ?? [];
        if (turnsIn({ messages }) === 0) return model(request);
        if (!hung) {
          hung = true;
          reached.resolve();
          return stallAfter(1, { reasoning: 'one two three four' });
        }
        return turn({ text: 'That is all.' });
      },
    });
    assert.deepEqual(
      response.plan?.items.map(({ text }) => text),
      PARTS,
    );
    assert.equal(response.output.filter((item) => item.type === 'tool_call').length, 1, 'planned once');
    assert.equal(requests.filter(({ body }) => turnsIn({ messages: body.messages ?? [] }) === 0).length, 1);
    for (const { body } of requests.slice(1)) assert.match(JSON.stringify(body.messages), /1\. \[open\] lake depth/);
  });
});

describe('over Redis', () => {
  let redis: RedisServer;
  let databases = 0;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  survive('Redis', () => freshDatabase(redis.url, databases++));
});
