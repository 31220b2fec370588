import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../../src/config/environment.ts';
import { parseConfig } from '../../src/config/load.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

/** Headings as GitHub names them in links. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map((match) => String(match[1]));
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe('the documentation', () => {
  it('docs/security.md names tests that exist', () => {
    const named = [...read('docs/security.md').matchAll(/`(test\/[^`]+\.ts)`/g)].map((match) => String(match[1]));
    assert.ok(named.length > 20);
    assert.deepEqual(
      named.filter((path) => !existsSync(join(ROOT, path))),
      [],
    );
  });

  for (const page of PAGES) {
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

  it('shows whole configurations that are valid', () => {
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

  it('says nothing of the machine that it was written on', () => {
    for (const page of PAGES) assert.doesNotMatch(read(page), /\/(work|root|tmp)\//, page);
  });
});
