import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'src/research-gateway.js');

function start(args: string[], options: { cwd?: string; node?: string; variables?: Record<string, string> } = {}) {
  const environment = { PATH: process.env.PATH ?? '', ...options.variables };
  return new Spawned(options.node ?? process.execPath, [PROGRAM, ...args], {
    cwd: options.cwd ?? ROOT,
    env: environment,
  });
}

describe('the first run', function () {
  // The commands of the README are run as processes.
  this.timeout(patience(30));
  it('research-gateway demo shows thoughts, tool calls and a cited report from any folder, and exits with 0', async () => {
    await using demo = start(['demo'], { cwd: tmpdir() });
    assert.equal(await demo.closed(), 0, demo.output.err);
    for (const shown of [
      /A gateway runs at http:\/\/127\.0\.0\.1:\d+/,
      /thought: /,
      /web_search: “/,
      /read “/,
      /Claims: [1-9]\d* quoted/,
      /The API was at/,
    ]) {
      assert.match(demo.output.err, shown);
    }
    const [report = '', sources = ''] = demo.output.out.split('\nSources\n');
    const cited = new Set([...report.matchAll(/\[(\d+)\]/g)].map((match) => match[1]));
    const listed = [...sources.matchAll(/^ +\[(\d+)\] .+ – corpus:\/\/\/[\w/-]+\.md$/gm)].map((match) => match[1]);
    assert.ok(listed.length >= 2, demo.output.out);
    assert.deepEqual(new Set(listed), cited);
  });

  it('starts on the Node from npm if an older one runs it', async function () {
    const node = olderNode();
    if (node === undefined) return this.skip();
    await using old = start(['--version'], { node });
    assert.equal(await old.closed(), 0, old.output.err);
    assert.match(old.output.out, /^\d+\.\d+\.\d+\n$/);
  });
});

/** A Node in the PATH that is too old for the gateway. */
function olderNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'node')).filter((path) => existsSync(path));
  return found.find((path) => Number.parseInt(execFileSync(path, ['-p', 'process.versions.node']).toString(), 10) < 26);
}

describe('a gateway with a configuration of its own', function () {
  // The commands of the README are run as processes.
  this.timeout(patience(30));
  let folder: string;
  let port: number;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'own-gateway-'));
    port = await freePort();
    const config = await readFile(join(ROOT, 'config/gateway.yaml'), 'utf8');
    const paced = config.replace('pace_ms: 10', 'pace_ms: 25').replace('./docs', join(ROOT, 'docs'));
    await writeFile(join(folder, 'gateway.yaml'), paced);
  });
  after(() => rm(folder, { recursive: true }));

  const compiled = () => join(folder, 'compiled');
  const variables = () => ({
    NODE_COMPILE_CACHE: compiled(),
    PORT: String(port),
    GATEWAY_BASE_URL: `http://127.0.0.1:${port}`,
    GATEWAY_API_KEY: 'sk-e2e-key',
  });
  const serve = () => start(['serve', '--config', 'gateway.yaml'], { cwd: folder, variables: variables() });
  const ask = (...args: string[]) => start(['ask', ...args], { variables: variables() });

  it('answers research-gateway ask, survives kill -9 in the middle of a run, and stops with code 0', async () => {
    let asking: Spawned;
    {
      await using first = serve();
      await first.shown(/"listening"/);
      asking = ask('How is a dropped stream resumed?');
      await asking.shown(/fetch_url_content: corpus/);
    }
    // Nothing has stopped in order yet, so the gateway wrote its compile cache before it was killed.
    assert.ok((await readdir(compiled(), { recursive: true })).length > 500);
    await using _ = asking;
    await asking.shown(/connection lost/);
    await using second = serve();
    assert.equal(await asking.closed(), 0, asking.output.err);
    assert.match(asking.output.out, /\nSources\n +\[1\]/);

    const id = /resp_[\w-]+/.exec(asking.output.err)?.[0] ?? '';
    await using again = ask('--resume', id, '--json', '--quiet');
    assert.equal(await again.closed(), 0, again.output.err);
    const response = JSON.parse(again.output.out);
    assert.deepEqual([response.id, response.status], [id, 'completed']);
    assert.ok(asking.output.out.includes(response.output_text), 'the report that was read is the one that is stored');

    second.child.kill('SIGTERM');
    assert.equal(await second.closed(), 0, second.output.err);
    assert.ok(!second.output.err.includes('sk-e2e-key'), 'the key is in no log line');
  });
});
