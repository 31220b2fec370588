import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { loadExample, readExample, variablesReadBy } from '../support/example-gateways.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Where the unit expects the repository. */
const INSTALLED = '/opt/research-gateway';
const UNIT = readExample('systemd/research-gateway.service');

/** Settings of the unit by name; a setting that occurs twice has two values. */
const SETTINGS = Map.groupBy(
  [...UNIT.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => ({ name, value })),
  ({ name }) => name,
);
const settings = (name: string) => (SETTINGS.get(name) ?? []).map(({ value }) => value);

describe('docs/examples/systemd', () => {
  it('starts files that exist, sets variables that are read, and gives the gateway time to stop', async () => {
    const [start = ''] = settings('ExecStart');
    const paths = start.split(' ').filter((word) => word.startsWith(INSTALLED));
    assert.equal(paths.length, 2);
    for (const path of paths) assert.ok(existsSync(path.replace(INSTALLED, ROOT)), path);
    for (const page of settings('Documentation')) {
      assert.ok(existsSync(page.replace(`file://${INSTALLED}`, ROOT)), page);
    }
    const { server, store } = await loadExample('systemd/gateway.yaml');
    const read = variablesReadBy('systemd/gateway.yaml');
    for (const assigned of settings('Environment')) assert.ok(read.has(assigned.split('=')[0] ?? ''), assigned);
    const [seconds] = settings('TimeoutStopSec');
    assert.ok(Number(seconds) * 1000 > server.shutdownGraceMs + 2000);
    assert.deepEqual(settings('RestartPreventExitStatus'), [String(EXIT.usage)]);
    assert.match(store.url, /^file:/);
    assert.deepEqual(
      settings('WorkingDirectory'),
      settings('StateDirectory').map((name) => `/var/lib/${name}`),
    );
  });

  it('restricts the gateway to what it needs', () => {
    for (const name of ['NoNewPrivileges', 'PrivateTmp', 'PrivateDevices', 'ProtectHome', 'ProtectKernelModules']) {
      assert.deepEqual(settings(name), ['yes'], name);
    }
    assert.deepEqual(settings('CapabilityBoundingSet'), ['']);
    assert.deepEqual(settings('ProtectSystem'), ['strict']);
    assert.deepEqual(settings('MemoryDenyWriteExecute'), []);
  });

  it('passes systemd-analyze verify', async function () {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
      console.warn('      skipped: there is no systemd-analyze in the PATH');
      this.skip();
    }
    await using folder = await mkdtempDisposable(join(tmpdir(), 'unit-'));
    const file = join(folder.path, 'research-gateway.service');
    // systemd-analyze checks that the program exists.
    await writeFile(file, UNIT.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    assert.deepEqual({ status, said: stdout + stderr }, { status: 0, said: '' });
  });
});
