import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { type ConfigWatcher, type ReloadOutcome, watchConfig } from '../../../src/config/watch.ts';
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

  /** Replaces the file at once: a file that is written in place is empty for a moment, on a busy machine for longer. */
  async function put(content: string): Promise<void> {
    await writeFile(join(folder, 'next'), content);
    await rename(join(folder, 'next'), file);
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
    await put(text({ broken: `mcp: { enabled: "$\{MODEL}" }` }));
    await failing.reload().catch(() => {});
    const [outcome]: ReloadOutcome[] = await next;
    assert.ok(outcome?.result === 'invalid');
    assert.match(outcome.error.message, /gateway\.yaml: cannot be loaded: no more threads/);
  });

  it('loads a file that was written in place', async () => {
    const reloaded = new Promise<ReloadOutcome>((resolve) => {
      outcomes.on('outcome', (outcome) => outcome.result === 'reloaded' && resolve(outcome));
    });
    await writeFile(file, text({ model: 'two' }));
    const outcome = await reloaded;
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
    const outcome = await outcomeOf(() => put(text({ model: 'two' })));
    assert.equal(outcome.result, 'reloaded');
    writing = false;
    await noise;
  });

  it('reloads on SIGHUP', async () => {
    const outcome = await outcomeOf(async () => {
      await put(text({ model: 'four' }));
      process.kill(process.pid, 'SIGHUP');
    });
    assert.ok(outcome.result === 'reloaded');
  });

  it('answers a SIGHUP even if nothing changed', async () => {
    const outcome = await outcomeOf(() => process.kill(process.pid, 'SIGHUP'));
    assert.equal(outcome.result, 'unchanged');
  });

  it('rejects an invalid file, says why, and loads the next valid one', async () => {
    const refused = await outcomeOf(() => put(text({ broken: 'nonsense: 1' })));
    assert.ok(refused.result === 'invalid');
    assert.match(refused.error.message, /gateway\.yaml:6:1 nonsense: is not a known key/);
    const mended = await outcomeOf(() => put(text({ model: 'five' })));
    assert.equal(mended.result, 'reloaded');
  });

  it('keeps what only a restart can change, and names it', async () => {
    const outcome = await outcomeOf(() => put(text({ port: 9090, model: 'six' })));
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
      const outcome = await outcomeOf(() => put(text({ model: 'six', port: 9090, broken })));
      assert.ok(outcome.result === 'reloaded', broken);
      assert.ok(
        outcome.changed.some((path) => broken.startsWith(path.split('.')[0] ?? '-')),
        `${outcome.changed}`,
      );
    }
    const fixed = await outcomeOf(() => put(text({ model: 'six', broken: 'files: { max_bytes: 1kb }' })));
    assert.ok(fixed.result === 'reloaded' && fixed.needsRestart.includes('files.max_bytes'), JSON.stringify(fixed));
  });

  it('does nothing if nothing changed', async () => {
    assert.deepEqual(await watcher.reload(), { result: 'unchanged' });
  });
});
