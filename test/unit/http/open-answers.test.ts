import assert from 'node:assert/strict';
import { readEnvironment } from '../../../src/config/environment.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { OpenAnswers } from '../../../src/http/answers/open-answers.ts';

function configOf(...ids: string[]): GatewayConfig {
  const keys = ids.map((id) => `{ id: ${id}, secret: secret-of-${id} }`);
  const text = `providers: { demo: { builtin: demo } }\nmodels: {}\nkeys: [${keys.join(', ')}]`;
  return parseConfig(text, { file: 'test.yaml', root: '/base', environment: readEnvironment({}) });
}

function key(id: string): GatewayConfig['keys'][number] {
  const [only] = configOf(id).keys;
  assert.ok(only);
  return only;
}

describe('OpenAnswers', () => {
  it('counts answers by route until they end, in any order', () => {
    const open = new OpenAnswers({ onChange: () => ({ [Symbol.dispose]() {} }) });
    const places = ['/a', '/b', '/a', '/c'].map((route) => open.add({ key: key('one'), route, end: () => {} }));
    assert.deepEqual(open.routes(), { '/a': 2, '/b': 1, '/c': 1 });
    places[0]?.[Symbol.dispose]();
    places[3]?.[Symbol.dispose]();
    places[3]?.[Symbol.dispose]();
    assert.deepEqual(open.routes(), { '/b': 1, '/a': 1 });
    places[1]?.[Symbol.dispose]();
    places[2]?.[Symbol.dispose]();
    assert.deepEqual(open.routes(), {});
  });

  it('does not count idle connections', () => {
    const open = new OpenAnswers({ onChange: () => ({ [Symbol.dispose]() {} }) });
    const idle = open.add({ key: key('one'), route: '/a', idle: true, end: () => {} });
    using _ = open.add({ key: key('one'), route: '/b', end: () => {} });
    assert.deepEqual([open.size, open.routes()], [1, { '/b': 1 }]);
    idle[Symbol.dispose]();
    idle[Symbol.dispose]();
    assert.equal(open.size, 1);
  });

  it('ends the answers of a removed key once, and no others', () => {
    let change: (config: GatewayConfig) => void = () => {};
    const open = new OpenAnswers({
      onChange: (listener) => {
        change = listener;
        return { [Symbol.dispose]() {} };
      },
    });
    const ended: string[] = [];
    for (const [id, route] of ['one', 'two', 'one', 'two'].entries()) {
      open.add({ key: key(route), route: `${route} ${id}`, end: () => ended.push(`${route} ${id}`) });
    }
    const kept = configOf('two');
    change(kept);
    change(kept);
    assert.deepEqual(ended, ['one 0', 'one 2']);
    assert.deepEqual(open.routes(), { 'two 1': 1, 'two 3': 1 });
  });
});
