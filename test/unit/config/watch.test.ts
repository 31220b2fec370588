import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../../../src/config/config-error.ts';
import { type Environment, readEnvironment } from '../../../src/config/environment.ts';
import { keyringOf } from '../../../src/config/keyring.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { secretHash } from '../../../src/config/secrets.ts';
import { type ConfigWatcher, type ReloadOutcome, watchConfig } from '../../../src/config/watch.ts';
import { parseInThread } from '../../../src/config/yaml/parse-in-thread.ts';
import { patience } from '../../support/time-limit.ts';

const text = (options: { model?: string; port?: number; broken?: string } = {}) => `
server: { port: ${options.port ?? 8080} }
providers: { demo: { builtin: demo } }
models: { ${options.model ?? 'one'}: { kind: proxy, routes: [ { provider: demo, model: demo } ] } }
keys: [ { id: a, secret: sk-a } ]
${options.broken ?? ''}
`;

describe('watchConfig', function () {
  // Many keys are read.
  this.timeout(patience(30));
  let folder: string;
  let file: string;
  let watcher: ConfigWatcher;
  let outcomes: EventEmitter;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'watch-'));
    file = join(folder, 'gateway.yaml');
    await writeFile(file, text());
    const load = { file, environment: readEnvironment({}) };
    outcomes = new EventEmitter();
    const onOutcome = (outcome: ReloadOutcome) => outcomes.emit('outcome', outcome);
    watcher = watchConfig({ loaded: await loadConfig(load), load, onOutcome });
  });
  afterEach(async () => {
    watcher[Symbol.dispose]();
    await rm(folder, { recursive: true });
  });

  /** The next outcome that is reported while `change` happens. */
  async function outcomeOf(change: () => unknown): Promise<ReloadOutcome> {
    const next = once(outcomes, 'outcome');
    await change();
    const [outcome] = await next;
    return outcome;
  }

  it('reports a reload that fails for another reason than the file, and keeps the old configuration', async () => {
    const environment = readEnvironment({
      get MODEL(): string {
        throw new Error('no more threads');
      },
    });
    using failing = watchConfig({
      loaded: await loadConfig({ file, environment }),
      load: { file, environment },
      onOutcome: (outcome) => outcomes.emit('failing', outcome),
    });
    const next = once(outcomes, 'failing');
    await writeFile(file, text({ broken: `mcp: { enabled: "$\{MODEL}" }` }));
    await failing.reload().catch(() => {});
    const [outcome]: ReloadOutcome[] = await next;
    assert.ok(outcome?.result === 'invalid');
    assert.match(outcome.error.message, /gateway\.yaml: cannot be loaded: no more threads/);
  });

  it('loads a file that was written in place', async () => {
    const outcome = await outcomeOf(() => writeFile(file, text({ model: 'two' })));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual([Object.keys(outcome.config.models), outcome.needsRestart], [['two'], []]);
    assert.ok(outcome.changed.includes('models.two'), outcome.changed.join());
  });

  it('loads a file that was replaced, as editors do', async () => {
    await writeFile(join(folder, 'new'), text({ model: 'three' }));
    const outcome = await outcomeOf(() => rename(join(folder, 'new'), file));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual(Object.keys(outcome.config.models), ['three']);
  });

  it('loads a file while another one in its folder is written all the time', async () => {
    let writing = true;
    const noise = (async () => {
      for (let n = 0; writing; n++) {
        await writeFile(join(folder, 'gateway.log'), `${n}`);
        await delay(20);
      }
    })();
    const outcome = await outcomeOf(() => writeFile(file, text({ model: 'two' })));
    assert.equal(outcome.result, 'reloaded');
    writing = false;
    await noise;
  });

  it('reloads on SIGHUP', async () => {
    const outcome = await outcomeOf(async () => {
      await writeFile(file, text({ model: 'four' }));
      process.kill(process.pid, 'SIGHUP');
    });
    assert.ok(outcome.result === 'reloaded');
  });

  it('answers a SIGHUP even if nothing changed', async () => {
    const outcome = await outcomeOf(() => process.kill(process.pid, 'SIGHUP'));
    assert.equal(outcome.result, 'unchanged');
  });

  it('rejects an invalid file, says why, and loads the next valid one', async () => {
    const refused = await outcomeOf(() => writeFile(file, text({ broken: 'nonsense: 1' })));
    assert.ok(refused.result === 'invalid');
    assert.match(refused.error.message, /gateway\.yaml:6:1 nonsense: is not a known key/);
    const mended = await outcomeOf(() => writeFile(file, text({ model: 'five' })));
    assert.equal(mended.result, 'reloaded');
  });

  it('keeps what only a restart can change, and names it', async () => {
    const outcome = await outcomeOf(() => writeFile(file, text({ port: 9090, model: 'six' })));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual(outcome.needsRestart, ['server.port']);
    assert.equal(outcome.config.server.port, 8080);
    assert.deepEqual(Object.keys(outcome.config.models), ['six']);
  });

  it('refuses the well-known key while the address in force is public, whatever the file says', async () => {
    const secretAt = (host: string, secret: string) =>
      text().replace('{ port: 8080 }', `{ host: ${host} }`).replace('sk-a', secret);
    await writeFile(file, secretAt('0.0.0.0', 'sk-a'));
    const load = { file, environment: readEnvironment({}) };
    using publicly = watchConfig({ loaded: await loadConfig(load), load, onOutcome: () => {} });
    await writeFile(file, secretAt('127.0.0.1', 'sk-local'));
    const refused = await publicly.reload();
    assert.ok(refused.result === 'invalid');
    assert.match(
      refused.error.message,
      /keys: hold the well-known key sk-local, refused on the public address 0\.0\.0\.0/,
    );
    await writeFile(file, secretAt('127.0.0.1', 'sk-b'));
    assert.equal((await publicly.reload()).result, 'reloaded');
  });

  it('reloads every section that can change, even if nothing else did', async () => {
    const sections = [
      'mcp: { enabled: true }',
      'webhooks: { allow_hosts: [a.internal] }',
      'passthrough: [{ path: /v1/batches, provider: demo }]',
      'tools: { web_search: { max_results: 3 } }',
    ];
    for (const broken of sections) {
      const outcome = await outcomeOf(() => writeFile(file, text({ model: 'six', port: 9090, broken })));
      assert.ok(outcome.result === 'reloaded', broken);
      assert.ok(
        outcome.changed.some((path) => broken.startsWith(path.split('.')[0] ?? '-')),
        `${outcome.changed}`,
      );
    }
    const fixed = await outcomeOf(() => writeFile(file, text({ model: 'six', broken: 'files: { max_bytes: 1kb }' })));
    assert.ok(fixed.result === 'reloaded' && fixed.needsRestart.includes('files.max_bytes'), JSON.stringify(fixed));
  });

  it('does nothing if nothing changed', async () => {
    assert.deepEqual(await watcher.reload(), { result: 'unchanged' });
  });
});

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
    await writeFile(
      load.file,
      `${text()
        .replace(/keys: .*/, 'keys:')
        .trimEnd()}\n${keys.join('')}`,
    );
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
