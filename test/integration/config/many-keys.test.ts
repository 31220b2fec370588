import assert from 'node:assert/strict';
import { parse, stringify } from 'yaml';
import { readManyKeys } from '../../../src/config/yaml/many-keys.ts';
import { readYaml } from '../../../src/config/yaml/yaml-source.ts';
import { Random } from '../../support/random.ts';

const REST = 'server: { port: 0 }\n# told once\nmodels:\n  m: { kind: proxy }\n';
/** Fills a file up to the size from which its keys are parsed by form. */
const PADDING = Array.from({ length: 40 }, (_, n) => ({ id: `pad-${n}`, secret: `sk-${n}-${'x'.repeat(1800)}` }));

/** Values that YAML interprets, or whose end is not where it seems. */
const VALUES = [
  'plain',
  'with space',
  'true',
  'null',
  'No',
  '~',
  '007',
  '12e5',
  '0x1f',
  '1_000',
  '.inf',
  '2026-01-01T00:00:00Z',
  'a: b',
  'a, b',
  'x }',
  '{ a: 1 }',
  '[a]',
  "it's",
  'say "hi"',
  'back\\slash',
  '# no comment',
  '&anchor',
  '*alias',
  '!tag',
  '@at',
  '- dash',
  'line\nbreak',
  '\uE0003',
  'é',
  '',
  ' ',
  `${'0123456789'.repeat(6)}0123`,
  `${'0123456789'.repeat(6)}1e23`,
  `${'0123456789abcdef'.repeat(4)}`,
  '9007199254740993',
  60,
  1.5,
  -1,
  true,
  null,
];

function randomKey(random: Random, n: number): object {
  const value = () => random.pick(VALUES);
  const fields: [string, unknown][] = [
    ['user', value()],
    ['secret', value()],
    ['models', [value(), value()]],
    ['limits', { tokens_per_day: random.below(5) * 1000, cost_per_day: value() }],
    ['routes', { m: [{ provider: value(), weight: 2 }] }],
  ];
  return { id: `key-${n}`, ...Object.fromEntries(fields.filter(() => random.chance(0.5))) };
}

describe('a configuration with many keys', () => {
  it('is parsed to the same value as by the YAML parser, whatever the keys hold and however they are written', () => {
    const random = new Random(7);
    for (let n = 0; n < 20; n += 1) {
      const options = random.pick([
        {},
        { indentSeq: false },
        { defaultStringType: 'QUOTE_DOUBLE' as const },
        { defaultStringType: 'QUOTE_SINGLE' as const },
      ]);
      const keys = [...PADDING, ...Array.from({ length: 30 }, (_, id) => randomKey(random, id))];
      const inFlow = (key: object) => stringify(key, { collectionStyle: 'flow' }).replaceAll('\n', ' ');
      const listed = random.chance(0.3)
        ? keys.reduce((text, key) => `${text}  - ${inFlow(key)}\n`, 'keys:\n')
        : stringify({ keys }, options);
      const text = random.pick([`${REST}${listed}`, `${listed}${REST}`]).replaceAll('\n', random.pick(['\n', '\r\n']));
      assert.deepEqual(readYaml(text, {}).value, parse(text), text.slice(-1000));
    }
  });

  it('calls the YAML parser once per form of key, and for each key that is not plain', () => {
    const asked: string[] = [];
    const listed = stringify({ keys: [...PADDING, { id: 'one', secret: '$ONE' }, { id: 'two', note: "it's" }] });
    const text = `${listed}${REST}`;
    const read = readManyKeys(text, (items) => {
      asked.push(items);
      return parse(items);
    });
    assert.equal(read?.keys.length, PADDING.length + 2);
    assert.equal(read.rest, `keys: []\n${REST}`);
    assert.equal(asked.length, 3);
  });

  it('keeps the name of a field that has no value', () => {
    const text = `${REST}${stringify({ keys: PADDING })}  - { id: a, tags: { b, c } }\n`;
    assert.deepEqual(readYaml(text, {}).value, parse(text));
  });

  const broken: Record<string, (text: string) => string> = {
    'an unterminated value': (text) => text.replace('id: pad-7\n', 'id: "pad-7\n'),
    'an extra brace': (text) => text.replace('id: pad-7\n', 'id: pad-7 }\n    limits: { a: b\n'),
    'a duplicate field': (text) => text.replace('id: pad-7\n', 'id: pad-7\n    id: pad-7\n'),
    'a second list of keys': (text) => `${text}keys:\n  - id: more\n`,
    'an unknown alias': (text) => text.replace('id: pad-7\n', 'id: *other\n'),
    'an unset variable': (text) => text.replace('id: pad-7\n', `id: "\${NOT_SET}"\n`),
  };
  for (const [what, spoil] of Object.entries(broken)) {
    it(`reports ${what}`, () => {
      assert.notDeepEqual(readYaml(spoil(`${REST}${stringify({ keys: PADDING })}`), {}).problems, []);
    });
  }

  it('locates a key by its line', () => {
    const text = `${REST}${stringify({ keys: PADDING })}`;
    const { locate } = readYaml(text, {});
    assert.equal(locate(['keys', 7, 'id']).line, text.slice(0, text.indexOf('id: pad-7\n')).split('\n').length);
  });
});
