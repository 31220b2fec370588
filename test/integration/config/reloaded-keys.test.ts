import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../../src/config/config-error.ts';
import { type Environment, readEnvironment } from '../../../src/config/environment.ts';
import { keyringOf } from '../../../src/config/keyring.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { secretHash } from '../../../src/config/secrets.ts';
import { watchConfig } from '../../../src/config/watch.ts';
import { parseInThread } from '../../../src/config/yaml/parse-in-thread.ts';
import { patience } from '../../support/time-limit.ts';

const text = (options: { model?: string; port?: number; broken?: string } = {}) => `
server: { port: ${options.port ?? 8080} }
providers: { demo: { builtin: demo } }
models: { ${options.model ?? 'one'}: { kind: proxy, routes: [ { provider: demo, model: demo } ] } }
keys: [ { id: a, secret: sk-a } ]
${options.broken ?? ''}
`;

describe('a configuration with many keys', function () {
  // Many keys are read.
  this.timeout(patience(30));
  const COUNT = 3000;
  let folder: string;
  let load: { file: string; environment: Environment };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'many-keys-'));
    load = { file: join(folder, 'gateway.yaml'), environment: readEnvironment({ SECRET_7: 'sk-seven' }) };
  });
  after(() => rm(folder, { recursive: true }));

  const write = async (changes: Record<number, string> = {}) => {
    const keys = Array.from(
      { length: COUNT },
      (_, n) => `  - { id: key-${n}, secret: ${changes[n] ?? `sk-of-${n}-many`} }\n`,
    );
    const written = `${load.file}.new`;
    await writeFile(
      written,
      `${text()
        .replace(/keys: .*/, 'keys:')
        .trimEnd()}\n${keys.join('')}`,
    );
    // At once: a slow write would be reloaded before the test asks for it.
    await rename(written, load.file);
  };
  const watched = async () => {
    const loaded = await loadConfig(load);
    return { watcher: watchConfig({ loaded, load, onOutcome: () => {} }) };
  };

  it('is reloaded over many turns of the event loop, with the same result', async () => {
    await write();
    const { watcher } = await watched();
    using _ = watcher;
    assert.deepEqual(await watcher.reload(), { result: 'unchanged' });
    await write({ 5: 'sk-five-is-new', 7: '"\x24{SECRET_7}"' });
    let turns = 0;
    let counting = true;
    const count = () => {
      turns++;
      if (counting) setImmediate(count);
    };
    count();
    const outcome = await watcher.reload();
    counting = false;
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual(outcome.changed, ['keys.5', 'keys.7']);
    const { config } = outcome;
    assert.equal(config.keys.length, COUNT);
    assert.ok(Object.isFrozen(config.keys) && Object.isFrozen(config.keys[9]?.limits));
    assert.equal(keyringOf(config).byHash.get(secretHash({ secret: 'sk-seven' }))?.id, 'key-7');
    assert.equal(keyringOf(config).byHash.get(secretHash({ secret: 'sk-of-7-many' })), undefined);
    assert.ok(turns >= COUNT / 200, `${turns} turns of the event loop`);
  });

  it('is refused with the same message, parsed in a thread or not', async () => {
    await write({ [COUNT - 1]: 'sk-of-0-many' });
    const aside = await loadConfig({ ...load, parse: parseInThread }).catch((thrown: unknown) => thrown);
    const here = await loadConfig(load).catch((thrown: unknown) => thrown);
    assert.ok(aside instanceof ConfigError && here instanceof ConfigError);
    assert.match(aside.message, /gateway\.yaml:\d+:\d+ keys\[\d+\]\.secret: is the same as that of keys/);
    assert.equal(aside.message, here.message);
  });

  it('lists the first 100 changed keys and how many more there are', async () => {
    await write();
    const { watcher } = await watched();
    using _ = watcher;
    await write(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n, `sk-changed-${n}`])));
    const outcome = await watcher.reload();
    assert.ok(outcome.result === 'reloaded');
    assert.equal(outcome.changed.length, 101);
    assert.equal(outcome.changed[100], 'keys (400 more)');
  });
});
