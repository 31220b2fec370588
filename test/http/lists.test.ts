import assert from 'node:assert/strict';
import { assertRefused, send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';

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

  for (const name of ['responses', 'tasks', 'files', 'items of a conversation'] as const) {
    it(`of ${name} go on while a client deletes what their pages show`, async () => {
      const path = await madeForDeleting(gateway, name);
      const deleted: string[] = [];
      for (let after = '', more = true; more; ) {
        const { json } = await send(gateway, `GET ${path}?limit=2&order=asc${after}`, { key: 'bob' });
        const { data, tasks, has_more } = json as unknown as Page;
        for (const { id } of data ?? tasks) {
          assert.equal((await send(gateway, `DELETE ${path}/${id}`, { key: 'bob' })).status, 200);
          deleted.push(id);
        }
        after = `&after=${deleted.at(-1)}`;
        more = has_more;
      }
      assert.equal(deleted.length, 5);
      const foreign = await send(gateway, `GET ${path}?after=${deleted[0]}`);
      const isHidden = name === 'items of a conversation';
      assertRefused(foreign, {
        ...(isHidden ? NOT_FOUND : { status: 400, code: 'invalid_parameter', param: 'after' }),
      });
    });
  }
});

const NOT_FOUND = { status: 404, code: 'not_found' };

/** Makes five things to delete, of the user `bob`. Returns the path of their list. */
async function madeForDeleting(gateway: TestGateway, name: string): Promise<string> {
  const post = async (path: string, body: object) => (await send(gateway, `POST ${path}`, { body, key: 'bob' })).json;
  const items = Array.from({ length: 5 }, (_, n) => ({ role: 'user', content: `${n}` }));
  if (name === 'items of a conversation')
    return `/v1/conversations/${(await post('/v1/conversations', { items })).id}/items`;
  for (const item of items) {
    if (name === 'responses') await post('/v1/responses', { model: 'deep', background: true, input: [item] });
    if (name === 'tasks') await post('/v1/async', { model: 'deep', messages: [item] });
    if (name !== 'files') continue;
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['text']), 'a.txt');
    await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS.bob}` },
      body: form,
    });
  }
  return name === 'responses' ? '/v1/responses' : name === 'tasks' ? '/v1/async' : '/v1/files';
}
