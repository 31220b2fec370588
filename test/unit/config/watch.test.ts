import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { type ConfigWatcher, type ReloadOutcome, watchConfig } from '../../../src/config/watch.ts';

const text = (options: { model?: string; port?: number; broken?: string } = {}) => `
server: { port: ${options.port ?? 8080} }
providers: { demo: { builtin: demo } }
models: { ${options.model ?? 'one'}: { kind: proxy, routes: [ { provider: demo, model: demo } ] } }
keys: [ { id: a, secret: sk-a } ]
${options.broken ?? ''}
`;

describe('watching the configuration file', () => {
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

  it('takes over a file that was written in place', async () => {
    const outcome = await outcomeOf(() => writeFile(file, text({ model: 'two' })));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual([Object.keys(outcome.config.models), outcome.needsRestart], [['two'], []]);
    assert.ok(outcome.changed.includes('models.two'), outcome.changed.join());
  });

  it('takes over a file that was replaced, as editors do', async () => {
    await writeFile(join(folder, 'new'), text({ model: 'three' }));
    const outcome = await outcomeOf(() => rename(join(folder, 'new'), file));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual(Object.keys(outcome.config.models), ['three']);
  });

  it('takes over a file while another one in its folder is written all the time', async () => {
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

  it('answers a SIGHUP also where nothing changed', async () => {
    const outcome = await outcomeOf(() => process.kill(process.pid, 'SIGHUP'));
    assert.equal(outcome.result, 'unchanged');
  });

  it('refuses an invalid file, says why, and takes over the next valid one', async () => {
    const refused = await outcomeOf(() => writeFile(file, text({ broken: 'nonsense: 1' })));
    assert.ok(refused.result === 'refused');
    assert.match(refused.error.message, /gateway\.yaml:6:1 nonsense: is not a known key/);
    const mended = await outcomeOf(() => writeFile(file, text({ model: 'five' })));
    assert.equal(mended.result, 'reloaded');
  });

  it('keeps what only a restart can change and names it', async () => {
    const outcome = await outcomeOf(() => writeFile(file, text({ port: 9090, model: 'six' })));
    assert.ok(outcome.result === 'reloaded');
    assert.deepEqual(outcome.needsRestart, ['server.port']);
    assert.equal(outcome.config.server.port, 8080);
    assert.deepEqual(Object.keys(outcome.config.models), ['six']);
  });

  it('does nothing where nothing changed', async () => {
    assert.deepEqual(await watcher.reload(), { result: 'unchanged' });
  });
});
