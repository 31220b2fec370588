import assert from 'node:assert/strict';
import { assertRefused, send } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

interface Page {
  data: { id: string }[];
  tasks: { id: string }[];
  has_more: boolean;
}

/** The three lists and their default order. */
const LISTS = [
  { name: 'responses', newestFirst: true },
  { name: 'tasks', newestFirst: true },
  { name: 'input items', newestFirst: false },
] as const;

describe('list order and cursors', () => {
  let gateway: TestGateway;
  const paths = new Map<string, string>();
  const entries = new Map<string, string[]>();

  before(async () => {
    gateway = await openGateway();
    const words = ['a', 'b', 'c', 'd', 'e'];
    const input = words.map((content) => ({ role: 'user', content }));
    const responses: string[] = [];
    const tasks: string[] = [];
    for (const content of words) {
      const body = { model: 'deep', background: true };
      const response = await send(gateway, 'POST /v1/responses', { body: { ...body, input } });
      responses.unshift(String(response.json.id));
      const messages = [{ role: 'user', content }];
      tasks.unshift(String((await send(gateway, 'POST /v1/async', { body: { model: 'deep', messages } })).json.id));
    }
    paths.set('responses', '/v1/responses').set('tasks', '/v1/async');
    paths.set('input items', `/v1/responses/${responses[0]}/input_items`);
    entries.set('responses', responses).set('tasks', tasks);
    const items = await send(gateway, `GET ${paths.get('input items')}`);
    entries.set(
      'input items',
      (items.json as unknown as Page).data.map(({ id }) => id),
    );
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const { name, newestFirst } of LISTS) {
    describe(name, () => {
      const ask = async (query: string) => {
        const { json } = await send(gateway, `GET ${paths.get(name)}?${query}`);
        const { data, tasks, has_more } = json as unknown as Page;
        return { ids: (data ?? tasks).map(({ id }) => id), has_more };
      };
      const own = () => entries.get(name) ?? [];

      it('returns the default or the requested order', async () => {
        const [asc, desc] = newestFirst ? [own().toReversed(), own()] : [own(), own().toReversed()];
        assert.equal(own().length, 5);
        assert.deepEqual((await ask('')).ids, own());
        assert.deepEqual((await ask('order=asc')).ids, asc);
        assert.deepEqual((await ask('order=desc')).ids, desc);
      });

      it('continues after a cursor in either order', async () => {
        const [, second, third, fourth] = own();
        assert.deepEqual(await ask(`limit=2&after=${second}`), { ids: [third, fourth], has_more: true });
        const back = newestFirst ? 'asc' : 'desc';
        assert.deepEqual(await ask(`limit=2&order=${back}&after=${fourth}`), { ids: [third, second], has_more: true });
      });

      it('returns the entries just before a cursor, in the order of the list', async () => {
        const [first, second, third, fourth, fifth] = own();
        assert.deepEqual(await ask(`limit=2&before=${fourth}`), { ids: [second, third], has_more: true });
        assert.deepEqual(await ask(`before=${third}`), { ids: [first, second], has_more: false });
        assert.deepEqual(await ask(`before=${first}`), { ids: [], has_more: false });
        const back = newestFirst ? 'asc' : 'desc';
        assert.deepEqual(await ask(`limit=1&order=${back}&before=${third}`), { ids: [fourth], has_more: true });
        assert.deepEqual(await ask(`after=${first}&before=${fifth}`), {
          ids: [second, third, fourth],
          has_more: false,
        });
      });

      it('refuses unknown cursors and orders', async () => {
        for (const [query, param] of [
          ['order=up', 'order'],
          ['before=nothing', 'before'],
          ['after=nothing', 'after'],
          ['before=resp_00000000-0000-4000-8000-000000000000', 'before'],
        ] as const) {
          const answer = await send(gateway, `GET ${paths.get(name)}?${query}`);
          assertRefused(answer, { status: 400, code: 'invalid_parameter', param });
        }
      });
    });
  }
});
