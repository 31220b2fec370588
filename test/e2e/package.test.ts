import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPacked, type PackedPackage } from '../support/packed-package.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** How much the package and its dependencies may take, without Node itself, in bytes. */
const MAX_INSTALLED_BYTES = 160e6;

describe('the npm package', function () {
  // It is compiled and packed first, which takes a quarter of a minute, and then run in processes.
  this.timeout(patience(90));
  let installed: PackedPackage;
  before(async () => {
    installed = await installPacked();
  });
  after(() => installed?.[Symbol.dispose]());

  const start = (command: string, args: string[], variables: Record<string, string> = {}) =>
    new Spawned(command, args, {
      cwd: installed.folder,
      env: {
        PATH: process.env.PATH,
        HOME: installed.folder,
        NODE_COMPILE_CACHE: join(installed.folder, 'compiled'),
        ...variables,
      },
    });
  const output = async (command: string, args: string[], variables?: Record<string, string>) => {
    await using process = start(command, args, variables);
    const code = await process.closed();
    assert.equal(code, 0, process.output.err + process.output.out);
    return process.output;
  };
  const program = () => join(installed.folder, 'node_modules/.bin/research-gateway');
  const write = (name: string, text: string) => writeFileSync(join(installed.folder, name), text);

  it('contains the build, and no sources, tests, benchmarks or pictures', () => {
    const { files } = installed;
    const folders = new Set(files.map((path) => path.split('/')[0]));
    assert.deepEqual([...folders].sort(), ['LICENSE', 'README.md', 'config', 'dist', 'docs', 'package.json', 'src']);
    assert.deepEqual(
      files.filter((path) => path.startsWith('src/')),
      ['src/research-gateway.js'],
    );
    const unwanted = files.filter((path) => /(?<!\.d)\.ts$|\.test\.|\.(png|svg)$/.test(path));
    assert.deepEqual(unwanted, ['dist/console/page/icon.svg']);
    for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
      const built = `dist/${name.replace(/\.ts$/, '.js')}`;
      const isFile = statSync(join(ROOT, 'src', name)).isFile();
      if (isFile && name !== 'research-gateway.js' && !name.endsWith('.d.ts')) assert.ok(files.includes(built), built);
    }
  });

  it('refers to no TypeScript file in the build', () => {
    for (const path of installed.files.filter((name) => name.startsWith('dist/') && name.endsWith('.js'))) {
      const text = readFileSync(join(installed.folder, 'node_modules/research-gateway', path), 'utf8');
      assert.doesNotMatch(text, /(?:from|import\(|new URL\() ?['"][^'"\n]+\.ts['"]/, path);
    }
  });

  it('installs in at most 160 MB besides Node', () => {
    const weighed = installed.dependencies.filter((path) => !/\/node-(bin-)?(linux|darwin)-\w+$/.test(path));
    assert.ok(weighed.length > 50);
    const bytes = weighed.reduce((sum, path) => sum + sizeOf(path), 0);
    assert.ok(bytes < MAX_INSTALLED_BYTES, `${Math.round(bytes / 1e6)} MB`);
  });

  it('runs with npx', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.equal((await output('npx', ['--no', '--', 'research-gateway', '--version'])).out, `${version}\n`);
  });

  it('checks the default configuration in an empty folder, and a given file', async () => {
    const { out, err } = await output(program(), ['config', 'check']);
    assert.match(out, /gateway\.yaml is valid: 1 provider, 3 models, 1 key/);
    assert.match(err, /uses the default configuration/);
    assert.doesNotMatch(err, /every local search will fail/);
    write('own.yaml', 'providers: { demo: { builtin: demo } }\nmodels: {}\nkeys: [{ id: a, secret: sk-a }]\n');
    assert.match((await output(program(), ['config', 'check', 'own.yaml'])).out, /own\.yaml is valid/);
  });

  it('prints a new key', async () => {
    assert.match((await output(program(), ['keys', 'new'])).out, /sk-/);
  });

  it('runs the demo, and reads its documents', async () => {
    const { out, err } = await output(program(), ['demo']);
    assert.match(out, /\nSources\n +\[1\] .+ – corpus:\/\/\/[\w-]+\.md/);
    assert.match(err, /read “/);
    assert.doesNotMatch(err, /: failed: /);
  });

  it('serves from an empty folder with two workers, and answers research-gateway ask', async () => {
    await using serving = start(program(), ['serve', '--workers', '2'], { PORT: '0' });
    await serving.shown(/"url":"[^"]+".*"listening"/);
    const url = /"url":"([^"]+)"/.exec(serving.output.err)?.[1] ?? '';
    const { out } = await output(program(), ['ask', '--base-url', url, 'What is a route?']);
    assert.match(out, /\nSources\n/);
    serving.child.kill('SIGTERM');
    assert.equal(await serving.closed(), 0, serving.output.err);
    assert.ok(existsSync(join(installed.folder, 'data')));
    assert.match((await output(program(), ['store', 'check'])).out, /./);
  });

  it('runs a gateway inside a program, as docs/package.md shows', async () => {
    const [, snippet = ''] = /^```js\n([\s\S]*?)^```/m.exec(readFileSync(join(ROOT, 'docs/package.md'), 'utf8')) ?? [];
    write('program.mjs', snippet);
    assert.match((await output(process.execPath, ['program.mjs'], { PORT: '0' })).out, /demo model/);
  });

  it('follows a run over a stream that breaks, with OpenAI’s SDK', async () => {
    write('follow.mjs', FOLLOWING);
    const { out } = await output(process.execPath, ['follow.mjs']);
    assert.deepEqual(JSON.parse(out), { lost: 3, gapless: true, last: 'response.completed', redacted: true });
  });

  it('has types for programs, and types for browsers that need no others', async () => {
    write('program.mts', TYPED_PROGRAM);
    write('page.ts', TYPED_PAGE);
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const common = ['--singleThreaded', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    await output(process.execPath, [tsc, ...common, '--types', 'node', 'program.mts']);
    const browser = ['--module', 'preserve', '--lib', 'es2022,dom,dom.asynciterable', '--types', ''];
    write('wrong.ts', TYPED_PAGE.replace("'response.output_text.delta'", "'response.output_text.detla'"));
    await using pages = start(process.execPath, [tsc, ...common, ...browser, 'page.ts', 'wrong.ts']);
    assert.notEqual(await pages.closed(), 0);
    assert.match(pages.output.out, /^wrong\.ts\(\d+,\d+\): error TS2367/);
    assert.doesNotMatch(pages.output.out, /^(?!wrong\.ts| )./m, 'nothing else is wrong');
  });

  it('runs on the bundled Node if the one that starts it is too old', async function () {
    const old = olderNodes()[0];
    if (old === undefined) return this.skip();
    assert.match((await output(old, [program(), '--version'])).out, /^\d+\.\d+\.\d+\n$/);
    await using unknown = start(old, [program(), 'nonsense']);
    assert.equal(await unknown.closed(), 2, 'its exit code is that of the command');
  });

  describe('without the bundled Node', () => {
    before(() => {
      const modules = join(installed.folder, 'node_modules');
      const nodes = readdirSync(modules).filter((name) => /^node-(bin-)?(linux|darwin)-/.test(name));
      for (const name of nodes) rmSync(join(modules, name));
    });

    it('refuses to run on an old Node, and says what to do', async function () {
      const old = olderNodes().find((node) => !runsBuilt(node));
      if (old === undefined) return this.skip();
      await using refused = start(old, [program(), 'demo']);
      assert.equal(await refused.closed(), 2);
      assert.match(
        refused.output.err,
        /^research-gateway needs Node 26 or newer, this is v\d+.*optional dependencies.*\n$/,
      );
    });

    it('runs on Node 22.21 and 24.9', async function () {
      const nodes = olderNodes().filter(runsBuilt);
      if (nodes.length === 0) return this.skip();
      for (const node of nodes) {
        assert.match((await output(node, [program(), 'demo'])).err, /read “/);
        assert.match((await output(node, ['follow.mjs'])).out, /"gapless":true/);
      }
    });
  });
});

const FOLLOWING = `
import OpenAI from 'openai';
import { loadConfig, startGateway } from 'research-gateway';
import { follow } from 'research-gateway/client';

const SECRET = 'sk-of-this-program';
const config = await loadConfig(undefined, { variables: { GATEWAY_API_KEY: SECRET, PORT: '0' } });
const log = [];
const gateway = await startGateway(
  { ...config, store: { ...config.store, url: 'memory:' }, logging: { ...config.logging, level: 'debug' } },
  { log: { write: (line) => log.push(line) } },
);

/** Breaks three answers after 2 000 bytes. */
let cuts = 3;
const cutting = async (url, init) => {
  const answer = await fetch(url, init);
  if (cuts === 0 || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer;
  cuts--;
  let left = 2000;
  const cut = new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left < 0) controller.error(new Error('cut'));
    },
  });
  return new Response(answer.body.pipeThrough(cut), answer);
};

const client = new OpenAI({ baseURL: gateway.url + '/v1', apiKey: SECRET, fetch: cutting });
const input = 'How does a client resume a dropped stream?';
const { id } = await client.responses.create({ model: Object.keys(config.models)[0], input, background: true });
const events = [];
let lost = 0;
for await (const event of follow(client, id, { onLost: () => lost++ })) events.push(event);
await gateway.close();
const gapless = events.every((event, index) => event.sequence_number === index + 1);
const redacted = !log.join('').includes(SECRET);
console.log(JSON.stringify({ lost, gapless, last: events.at(-1)?.type, redacted }));
`;

const TYPED_PROGRAM = `
import OpenAI from 'openai';
import { type Gateway, type GatewayConfig, loadConfig, startGateway } from 'research-gateway';
import { follow, type RunEvent } from 'research-gateway/client';

const config: GatewayConfig = await loadConfig('gateway.yaml', { variables: { PORT: '0' } });
const port: number = config.server.port;
const gateway: Gateway = await startGateway({ ...config, server: { ...config.server, port: port + 1 } });
const client = new OpenAI({ baseURL: gateway.url, apiKey: 'sk-a' });
const seen: RunEvent[] = [];
for await (const event of follow(client, 'resp_1', { after: 3, signal: AbortSignal.timeout(1000) })) seen.push(event);
await gateway.close();
`;

const TYPED_PAGE = `
import { follow, type OutputItem, type ResponsesClient } from 'research-gateway/client';

declare const client: ResponsesClient;
export async function show(id: string): Promise<string | undefined> {
  let text = '';
  const items: OutputItem[] = [];
  for await (const event of follow(client, id, { onLost: (reason) => console.warn(reason) })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.output_item.done') items.push(event.item);
    if (event.type === 'response.completed') return event.response.usage?.cost?.currency;
  }
  return text;
}
`;

/** The Nodes in the PATH that are older than the bundled one. */
function olderNodes(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'node')).filter((path) => existsSync(path));
  return found.filter((path) => versionOf(path).major < 26);
}

function versionOf(node: string): { major: number; minor: number } {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return { major, minor };
}

/** Whether the build runs on this Node, as `engines` in package.json says. */
function runsBuilt(node: string): boolean {
  const { major, minor } = versionOf(node);
  return (major === 22 && minor >= 21) || (major === 24 && minor >= 9) || major > 24;
}

/** The size of a package's own files, without its node_modules, in bytes. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .map((entry) => join(entry.parentPath, entry.name))
    .reduce((sum, path) => sum + (statSync(path).isDirectory() ? sizeOf(path) : statSync(path).size), 0);
}
