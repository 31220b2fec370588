import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const FOLDER = new URL('../../.github/workflows/', import.meta.url);
const PROJECT = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const step = z.union([
  z.strictObject({ uses: z.string().regex(/^[\w-]+\/[\w-]+@v\d+$/), with: z.record(z.string(), z.any()).optional() }),
  z.strictObject({ run: z.string(), name: z.string().optional(), 'working-directory': z.string().optional() }),
]);
const permissions = z.partialRecord(z.enum(['contents', 'id-token']), z.enum(['read', 'write']));
const workflow = z.strictObject({
  name: z.string(),
  on: z.strictObject({
    push: z.strictObject({ branches: z.array(z.string()), tags: z.array(z.string()) }).partial(),
    pull_request: z.null().optional(),
  }),
  permissions,
  jobs: z.record(
    z.string(),
    z.strictObject({
      'runs-on': z.string(),
      'timeout-minutes': z.int().positive(),
      permissions: permissions.optional(),
      strategy: z
        .strictObject({
          'fail-fast': z.boolean(),
          matrix: z.record(z.string(), z.array(z.union([z.string(), z.int()]))),
        })
        .optional(),
      steps: z.array(step).min(1),
    }),
  ),
});

describe('the CI workflows', () => {
  const workflows = Object.fromEntries(
    readdirSync(FOLDER).map((name) => [name, workflow.parse(parse(readFileSync(new URL(name, FOLDER), 'utf8')))]),
  );

  it('have read-only permissions and refer only to existing matrix values, npm scripts and files', () => {
    for (const [name, { jobs, permissions: all }] of Object.entries(workflows)) {
      assert.deepEqual(all, { contents: 'read' }, name);
      for (const [id, job] of Object.entries(jobs)) {
        const text = JSON.stringify(job);
        for (const [, variable = ''] of text.matchAll(/\$\{\{ matrix\.(\w+) \}\}/g)) {
          assert.ok(job.strategy?.matrix[variable], `${name} ${id}: ${variable}`);
        }
        assert.doesNotMatch(text, /\$\{\{ (?!matrix\.|runner\.temp)/, 'nothing else goes into a shell');
        for (const [, script = ''] of text.matchAll(/npm run (\w+)/g)) assert.ok(PROJECT.scripts[script], script);
        for (const [, file = ''] of text.matchAll(/bash ([\w./]+)/g)) readFileSync(new URL(`../../${file}`, FOLDER));
      }
    }
  });

  it('test Linux and macOS, the package with Node 22, 24 and 26, and publish with provenance', () => {
    const { test, package: packed } = workflows['ci.yml']?.jobs ?? {};
    assert.deepEqual(test?.strategy?.matrix.os, ['ubuntu-latest', 'macos-latest']);
    assert.deepEqual(packed?.strategy?.matrix, { os: ['ubuntu-latest', 'macos-latest'], node: [22, 24, 26] });
    const release = workflows['release.yml']?.jobs.publish;
    assert.deepEqual(release?.permissions, { contents: 'read', 'id-token': 'write' });
    assert.match(JSON.stringify(release), /npm publish --provenance/);
  });
});
