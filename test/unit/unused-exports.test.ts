import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXPORTED = /^export (?:async )?(?:const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm;

/** Every TypeScript file of a folder by its path, with its text. */
function filesOf(folder: string): { path: string; text: string }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js)$/.test(name) && !name.includes('node_modules'))
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(ROOT, folder, name), 'utf8') }));
}

/** Names that `file` exports and that occur nowhere else, in it or in another file. */
function unused(file: { path: string; text: string }, words: ReadonlyMap<string, number>): string[] {
  return [...file.text.matchAll(EXPORTED)].flatMap(([, name]) =>
    name !== undefined && words.get(name) === 1 ? [`${file.path}: ${name}`] : [],
  );
}

/** Names that two files export, except those of modules that are chosen at run time. */
function shared(files: readonly { path: string; text: string }[]): string[] {
  const places = new Map<string, string[]>();
  for (const { path, text } of files.filter(({ path }) => path.endsWith('.ts') && !FACADE.test(path))) {
    for (const [, name = ''] of text.matchAll(EXPORTED)) places.set(name, [...(places.get(name) ?? []), path]);
  }
  places.delete('createSearch');
  return [...places].flatMap(([name, found]) => (found.length > 1 ? [`${name}: ${found.join(', ')}`] : []));
}

/** The public entry points, which export existing names again. */
const FACADE = /^src\/(?:index|client\/follow)\.ts$/;

describe('exports', () => {
  it('are used somewhere', () => {
    const sources = filesOf('src');
    const words = new Map<string, number>();
    for (const { text } of [...sources, ...filesOf('test'), ...filesOf('bench')]) {
      for (const [word] of text.matchAll(/[\w$]+/g)) words.set(word, (words.get(word) ?? 0) + 1);
    }
    assert.deepEqual(
      sources.flatMap((file) => unused(file, words)),
      [],
    );
  });

  it('have unique names', () => {
    assert.deepEqual(shared(filesOf('src')), []);
    const twice = ['src/a.ts', 'src/b.ts'].map((path) => ({ path, text: 'export const one = 1;\n' }));
    assert.deepEqual(shared(twice), ['one: src/a.ts, src/b.ts']);
  });

  it('are reported if nobody uses them', () => {
    const file = { path: 'a.ts', text: 'export const used = 1;\nexport function alone(): void {}\n' };
    const words = new Map([
      ['used', 2],
      ['alone', 1],
    ]);
    assert.deepEqual(unused(file, words), ['a.ts: alone']);
  });
});
