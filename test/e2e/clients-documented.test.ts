import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { patience } from '../support/time-limit.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('docs/compatibility.md', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  const page = read('docs/compatibility.md');
  const { packages } = JSON.parse(read('test/clients/package-lock.json'));
  const { dependencies } = JSON.parse(read('test/clients/package.json'));

  it('lists every client with the version that the lockfile installs', () => {
    const documented = [...page.matchAll(/^\| `([^`]+)`(?:(?: for Node)? (\d))? *\| (\d+\.\d+\.\d+) /gm)];
    const named = documented.map(([, name, major = '', version]) => ({ name: `${name}${major}`, version }));
    for (const { name, version } of named) assert.equal(version, packages[`node_modules/${name}`]?.version, name);
    const helpers = ['@langchain/core', 'typescript', 'zod'];
    const clients = Object.keys(dependencies).filter((name) => !helpers.includes(name));
    assert.deepEqual(new Set(named.map(({ name }) => name)), new Set(clients));
  });
});
