import assert from 'node:assert/strict';
import { configSchema } from '../../../src/config/schema.ts';
import { drawFor, inOrder } from '../../../src/upstream/routing/routes.ts';

type Written = { model: string; priority?: number; weight?: number };

const routesOf = (written: Written[]) => written.map((route) => ({ provider: 'p', ...route }));
const order = (written: Written[], draw = 0.5) =>
  inOrder(routesOf(written), draw)
    .map(({ model }) => model)
    .join('');

describe('the order of routes', () => {
  it('is that of the file by default', () => {
    assert.equal(order([{ model: 'b' }, { model: 'a' }, { model: 'c' }]), 'bac');
  });

  it('is by priority, then by position in the file', () => {
    const written = [
      { model: 'a', priority: 2 },
      { model: 'b' },
      { model: 'c', priority: 0 },
      { model: 'd', priority: 1 },
    ];
    assert.equal(order(written), 'cbda');
  });

  it('is drawn by weight for every place, with weight 0 last', () => {
    const written = [
      { model: 'x', weight: 0 },
      { model: 'a', weight: 2 },
      { model: 'b' },
      { model: 'c' },
      { model: 'z', priority: 2, weight: 100 },
    ];
    const counts = new Map<string, number>();
    for (let n = 0; n < 1200; n++) {
      const found = order(written, (n + 0.5) / 1200);
      counts.set(found, (counts.get(found) ?? 0) + 1);
    }
    assert.deepEqual(
      [...counts],
      [
        ['abcxz', 300],
        ['acbxz', 300],
        ['bacxz', 200],
        ['bcaxz', 100],
        ['cabxz', 200],
        ['cbaxz', 100],
      ],
    );
    assert.equal(
      order(
        [
          { model: 'a', weight: 0 },
          { model: 'b', weight: 0 },
        ],
        0.9,
      ),
      'ab',
    );
  });

  it('is drawn per call, kept within a run, and kept for a user with sticky: user', () => {
    const { models, keys } = configSchema.parse({
      providers: { demo: { builtin: 'demo' } },
      models: {
        free: { kind: 'proxy', routes: [{ provider: 'demo', model: 'm' }] },
        kept: { kind: 'proxy', sticky: 'user', routes: [{ provider: 'demo', model: 'm' }] },
      },
      keys: [
        { id: 'a', user: 'ann', secret: 'sk-a' },
        { id: 'b', user: 'ann', secret: 'sk-b' },
        { id: 'c', secret: 'sk-c' },
      ],
    });
    const { free, kept } = models;
    assert.ok(free && kept);
    const [a, b, c] = keys;
    const none = () => assert.fail('chance has no say');
    assert.equal(
      drawFor({ model: free, key: a }, () => 0.25),
      0.25,
    );
    assert.equal(
      drawFor({ model: free, key: a, runId: 'r1' }, none),
      drawFor({ model: free, key: b, runId: 'r1' }, none),
    );
    assert.equal(drawFor({ model: kept, key: a }, none), drawFor({ model: kept, key: b, runId: 'r1' }, none));
    assert.notEqual(drawFor({ model: kept, key: a }, none), drawFor({ model: kept, key: c }, none));
    const draws = Array.from({ length: 2000 }, (_, n) => drawFor({ model: free, runId: `run ${n}` }, none));
    assert.ok(draws.every((draw) => draw >= 0 && draw < 1));
    const low = draws.filter((draw) => draw < 0.25).length;
    assert.ok(low > 400 && low < 600, `${low} of 2000 in the first quarter`);
  });

  it('is kept for a conversation of a user with sticky: conversation', () => {
    const { models, keys } = configSchema.parse({
      providers: { demo: { builtin: 'demo' } },
      models: {
        kept: { kind: 'proxy', sticky: 'conversation', routes: [{ provider: 'demo', model: 'm' }] },
        user: { kind: 'proxy', sticky: 'user', routes: [{ provider: 'demo', model: 'm' }] },
      },
      keys: [
        { id: 'a', user: 'ann', secret: 'sk-a' },
        { id: 'b', user: 'ann', secret: 'sk-b' },
        { id: 'c', secret: 'sk-c' },
      ],
    });
    const { kept, user } = models;
    assert.ok(kept && user);
    const [a, b, c] = keys;
    const none = () => assert.fail('chance has no say');
    const draw = (key: typeof a, name: string | undefined, runId?: string) =>
      drawFor({ model: kept, key, runId, conversation: () => name }, none);
    assert.equal(draw(a, 'one'), draw(b, 'one', 'run'));
    assert.notEqual(draw(a, 'one'), draw(a, 'two'));
    assert.notEqual(draw(a, 'one'), draw(c, 'one'), 'users of the same conversation name are drawn apart');
    assert.equal(
      draw(a, undefined, 'run'),
      draw(c, undefined, 'run'),
      'a run without a conversation is drawn by its id',
    );
    assert.equal(
      drawFor({ model: kept, key: a, conversation: () => undefined }, () => 0.25),
      0.25,
    );
    drawFor({ model: user, key: a, conversation: () => assert.fail('nobody asked') }, none);
  });
});
