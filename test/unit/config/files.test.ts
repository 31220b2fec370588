import assert from 'node:assert/strict';
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isObject } from '../../../src/base/json.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { secretsIn } from '../../../src/config/secrets.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;

describe('the shipped configuration files', () => {
  it('load by default with an empty environment, and announce the accepted key', async () => {
    const { config, notices } = await loadConfig({ root: ROOT, environment: readEnvironment({}) });
    assert.equal(config.server.host, '127.0.0.1');
    assert.deepEqual(Object.keys(config.models), [
      'service-model-1-7-deepresearch',
      'service-model-1-7-deepresearch-mini',
      'demo',
    ]);
    assert.match(notices.join(), /sk-local/);
    assert.deepEqual([...secretsIn(config)], [], 'the well-known key need not be hidden');
  });

  it('refuse a public address by default until another key is set', async () => {
    const load = (variables: Record<string, string>) =>
      loadConfig({ root: ROOT, environment: readEnvironment(variables) });
    await assert.rejects(load({ HOST: '0.0.0.0' }), /sk-local.*GATEWAY_API_KEY/);
    const { config, notices } = await load({ HOST: '0.0.0.0', GATEWAY_API_KEY: 'sk-mine-and-long' });
    assert.deepEqual([[...secretsIn(config)], notices], [['sk-mine-and-long'], []]);
  });

  it('cause a notice, not an error, if the search folder is missing', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'config-'));
    const text = await readFile(`${ROOT}config/gateway.yaml`, 'utf8');
    const file = join(folder.path, 'gateway.yaml');
    await writeFile(file, text.replace('folder: ./docs', 'folder: ./elsewhere'));
    const { notices } = await loadConfig({ root: folder.path, file, environment: readEnvironment({}) });
    assert.match(notices.join('\n'), /searches the folder .*elsewhere, which is not there/);
  });

  it('include only examples that are valid once their variables are set, whose values count as secrets', async () => {
    const examples = await readdir(`${ROOT}config/examples`);
    assert.ok(examples.length >= 3);
    for (const name of examples) {
      const text = await readFile(`${ROOT}config/examples/${name}`, 'utf8');
      const named = [...text.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map((match) => String(match[1]));
      const variables = Object.fromEntries(named.map((variable) => [variable, `value-of-${variable}`]));
      const environment = readEnvironment(variables);
      const { config, notices } = await loadConfig({ root: ROOT, file: `config/examples/${name}`, environment });
      assert.doesNotMatch(notices.join(), /limits of cost/, name);
      assert.doesNotMatch(text, /secret: .*:-/, `${name} has no key that everybody knows`);
      for (const value of Object.values(variables))
        assert.ok([...secretsIn(config)].includes(value), `${name}: ${value}`);
    }
  });

  it('have every key mentioned in docs/configuration.md', async () => {
    const page = await readFile(`${ROOT}docs/configuration.md`, 'utf8');
    const missing = [...keysOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }))].filter(
      (key) => !page.includes(key),
    );
    assert.deepEqual(missing, []);
  });
});

/** Every property name in a JSON schema. */
function keysOf(schema: unknown): Set<string> {
  const found = new Set<string>();
  const walk = (node: unknown) => {
    if (Array.isArray(node)) node.forEach(walk);
    if (!isObject(node)) return;
    if (isObject(node.properties)) for (const key of Object.keys(node.properties)) found.add(key);
    Object.values(node).forEach(walk);
  };
  walk(schema);
  return found;
}
