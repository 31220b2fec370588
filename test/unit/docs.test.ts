import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUILTIN_TOOLS } from '../../src/config/builtin-tools.ts';
import { DIALECT_NAMES } from '../../src/config/dialect-names.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { parseConfig } from '../../src/config/load.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];
const MAINTAINERS_PAGES = ['CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md'];

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

const FOLDERS = ['src', 'test', 'docs', 'bench', 'config', '.ci', '.github'];
const FILES = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.includes('node_modules'))
    .map((name) => `/${folder}/${name.replaceAll('\\', '/')}`),
);
const SOURCE_FOLDERS = new Set([...FOLDERS, ...readdirSync(join(ROOT, 'src')).filter((name) => !name.includes('.'))]);
const SCRIPTS = new Set(Object.keys(JSON.parse(read('package.json')).scripts));
/** Folders that the gateway, npm, the build or a user creates. */
const NOT_CHECKED_IN = new Set(['data/', 'dist/', 'node_modules/', './docs']);

/** Paths of this repository that a page has in backticks: file names, folders that end in a slash, and full paths. */
function pathsIn(text: string): string[] {
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)];
  return spans
    .flatMap((match) => String(match[1]).split(/,? /))
    .filter((word) => /^[\w.<>*{},-]+(\/[\w.<>*{},-]+)*\/?$/.test(word) && !NOT_CHECKED_IN.has(word))
    .filter(
      (word) =>
        /\.([mc]?[jt]s|sse)$|\/$/.test(word) || (word.includes('/') && SOURCE_FOLDERS.has(word.split('/')[0] ?? '')),
    );
}

/** Names with the file that they are in: "`name` (`file.ts`)", "`one` and `other` in `file.ts`". */
function namesInFiles(text: string): { name: string; path: string }[] {
  const mentions = text.matchAll(/((?:`#?\w+`(?:,\s| and\s)?)+)\s(?:\(|in\s)`([\w./-]+\.ts)`/g);
  return [...mentions].flatMap(([, names = '', path = '']) =>
    [...names.matchAll(/`(#?\w+)`/g)].map(([, name = '']) => ({ name, path })),
  );
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

/** Whether a path exists; `<name>` matches any name, as `*` does. */
function exists(path: string): boolean {
  const pattern = path
    .replace(/\/$/, '')
    .replaceAll('.', '\\.')
    .replaceAll(/\*|<[^>]+>/g, '[^/]+');
  const ends = new RegExp(`/${pattern}$`);
  return FILES.some((file) => ends.test(file)) || FOLDERS.some((folder) => ends.test(`/${folder}`));
}

/** Headings as GitHub names them in links. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map((match) => String(match[1]));
  return new Set(headings.map(anchorOf));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

describe('the documentation', () => {
  for (const page of [...PAGES, ...MAINTAINERS_PAGES]) {
    it(`${page} names files, folders and scripts that exist`, () => {
      const text = read(page);
      assert.deepEqual(
        pathsIn(text).filter((path) => !exists(path)),
        [],
      );
      const scripts = [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map((match) => String(match[1]));
      assert.deepEqual(
        scripts.filter((script) => !SCRIPTS.has(script)),
        [],
      );
    });
  }

  for (const page of MAINTAINERS_PAGES) {
    it(`${page} says of names in which file they are`, () => {
      const lost = namesInFiles(read(page)).filter(({ name, path }) => {
        const files = FILES.filter((file) => file.endsWith(`/${path}`));
        return !files.some((file) => new RegExp(`(?<![\\w#])${name}\\b`).test(withoutComments(read(file))));
      });
      assert.deepEqual(lost, []);
    });
  }

  it('has the chapters that code comments cite', () => {
    let named = 0;
    for (const file of FILES.filter((name) => /^\/(?:src|test|bench)\/.*\.ts$/.test(name))) {
      const text = read(file).replace(/\n\s*(?:\*|\/\/) /g, ' ');
      assert.doesNotMatch(text, /contract(?: of \w+)?,? section \d/i, `${file} names a page that is not here`);
      for (const [, page = '', chapters = ''] of text.matchAll(/(docs\/[\w-]+\.md)((?:(?:,| and) "[^"]+")*)/g)) {
        const known = anchorsOf(read(page));
        for (const [, chapter = ''] of chapters.matchAll(/"([^"]+)"/g)) {
          assert.ok(known.has(anchorOf(chapter)), `${file} names ${page}, "${chapter}"`);
          named++;
        }
      }
    }
    assert.ok(named > 100);
  });

  it('has a row for each dialect and each built-in tool', () => {
    const hasRow = (page: string) => (name: string) => read(page).includes(`\n| \`${name}\` `);
    assert.deepEqual(DIALECT_NAMES.filter(hasRow('docs/providers.md')), DIALECT_NAMES);
    assert.deepEqual(BUILTIN_TOOLS.filter(hasRow('docs/research.md')), BUILTIN_TOOLS);
  });

  it('cites more than 20 tests in docs/security.md', () => {
    assert.ok(pathsIn(read('docs/security.md')).filter((path) => path.startsWith('test/')).length > 20);
  });

  for (const page of [...PAGES, ...MAINTAINERS_PAGES]) {
    it(`${page} links to files and headings that exist`, () => {
      const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => String(match[1]));
      for (const link of links.filter((target) => !/^https?:/.test(target))) {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
        assert.ok(existsSync(join(ROOT, target)), `${link} leads nowhere`);
        if (anchor !== undefined) assert.ok(anchorsOf(read(target)).has(anchor), `${link} has no such heading`);
      }
    });
  }

  it('contains only valid configurations (blocks with providers and keys)', () => {
    const variables = { OPENAI_API_KEY: 'a', BRAVE_API_KEY: 'b', GATEWAY_API_KEY: 'c' };
    let checked = 0;
    for (const page of PAGES) {
      for (const [, yaml = ''] of read(page).matchAll(/^```yaml\n([\s\S]*?)^```/gm)) {
        if (!yaml.includes('providers:') || !yaml.includes('keys:')) continue;
        parseConfig(yaml, { file: page, root: ROOT, environment: readEnvironment(variables) });
        checked++;
      }
    }
    assert.ok(checked >= 2);
  });

  it('contains no paths of the machine it was written on', () => {
    for (const page of PAGES) assert.doesNotMatch(read(page), /\/(work|root|tmp)\//, page);
  });
});
