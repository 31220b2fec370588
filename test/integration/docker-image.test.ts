import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempDisposableSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { installedWithIt, linkInstalled } from '../support/packed-package.ts';
import { Spawned } from '../support/spawned.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

/** The instructions of the Dockerfile, in order. */
const STEPS = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => ({ name: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));

const only = (name: string) => STEPS.filter((step) => step.name === name).at(-1)?.rest ?? '';
const command = (name: string): string[] => JSON.parse(only(name).slice(only(name).indexOf('[')));

/** Whether .dockerignore keeps a file out of the build. */
function isLeftOut(path: string): boolean {
  const parts = path.split('/').map((_, index, all) => all.slice(0, index + 1).join('/'));
  const patterns = read('.dockerignore').split('\n').filter(Boolean);
  return parts.some((part) => patterns.some((pattern) => matchesGlob(part, pattern)));
}

/** Runs the steps of the Dockerfile in folders; nothing is downloaded. */
function build(context: string, target: string): void {
  const stages = new Map<string, string>();
  let stage = '';
  for (const { name, rest } of STEPS) {
    if (name === 'FROM') {
      stage = join(target, rest.split(' AS ')[1] ?? 'image');
      stages.set(rest.split(' AS ')[1] ?? 'image', stage);
      mkdirSync(stage, { recursive: true });
    }
    if (name === 'RUN' && rest.startsWith('npm ci')) {
      assert.match(rest, /--omit=dev --omit=optional --ignore-scripts/);
      for (const needed of ['package.json', 'package-lock.json', '.npmrc']) statSync(join(stage, needed));
      linkInstalled(
        stage,
        installedWithIt().filter((place) => !/\/node-(bin-)?(linux|darwin)-\w+$/.test(place)),
      );
    }
    if (name === 'RUN' && rest.startsWith('mkdir'))
      execFileSync('sh', ['-c', rest.split(' && ')[0] ?? ''], { cwd: stage });
    if (name === 'COPY') {
      const words = rest.split(' ');
      const from = words[0]?.startsWith('--from=') ? stages.get(words.shift()?.slice('--from='.length) ?? '') : context;
      const to = words.pop() ?? '';
      for (const word of words) {
        const source = join(from ?? '', word.replace(/^\/app\//, ''));
        cpSync(source, join(stage, to === './' ? word : to), { recursive: true, verbatimSymlinks: true });
      }
    }
  }
}

describe('the Docker image', () => {
  it('has two stages with one base that can be pinned, an init, a user and a health check', () => {
    assert.equal(STEPS[0]?.rest.startsWith('NODE_IMAGE=node:26-slim'), true);
    const stages = STEPS.filter(({ name }) => name === 'FROM').map(({ rest }) => rest);
    assert.match(stages.join(), /^\$\{NODE_IMAGE\} AS dependencies,\$\{NODE_IMAGE\}$/);
    assert.deepEqual(command('ENTRYPOINT'), ['tini', '--']);
    assert.deepEqual([only('USER'), only('VOLUME')], ['node', '/app/data']);
    assert.match(read('.ci/pin-base-image'), /s\|\^ARG NODE_IMAGE=/);
  });

  it('contains no secrets or data, passes its health check, and writes only to its volume', async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'image-'));
    const context = join(folder.path, 'context');
    const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const planted = ['.env', '.env.local', 'config/.env', 'data/runs.db', 'src/.env.production', 'docs/x.log'];
    for (const path of planted) assert.ok(isLeftOut(path), path);
    for (const path of tracked.split('\n').filter((name) => name !== '' && !isLeftOut(name))) {
      cpSync(join(ROOT, path), join(context, path), { recursive: true });
    }
    build(context, folder.path);
    const image = join(folder.path, 'image');
    const env = {
      PATH: process.env.PATH,
      HOME: join(folder.path, 'nobody'),
      ...Object.fromEntries(
        only('ENV')
          .split(' ')
          .map((pair) => pair.split('=', 2)),
      ),
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      GATEWAY_API_KEY: 'sk-of-the-image-0123456789',
    };
    const marker = join(folder.path, 'marker');
    writeFileSync(marker, '');
    const [program = '', ...args] = command('CMD');
    await using gateway = new Spawned(program, args, { cwd: image, env });
    await gateway.shown(/"listening"/);
    const [node = '', ...check] = command('HEALTHCHECK');
    await using healthy = new Spawned(node, check, { cwd: image, env });
    assert.equal(await healthy.closed(), 0, healthy.output.err);
    const written = execFileSync('find', ['.', '-newer', marker, '-type', 'f'], { cwd: image, encoding: 'utf8' });
    // The compile cache is written here, but the user of the image may not write it.
    const allowed = /^\.\/(?:data|node_modules\/\.cache\/compile)\//;
    assert.deepEqual(
      written.split('\n').filter((path) => path !== '' && !allowed.test(path)),
      [],
    );
    gateway.child.kill('SIGTERM');
    assert.equal(await gateway.closed(), 0);

    // With an admin port, the first one does not know /healthz.
    const GATEWAY_CONFIG = join(folder.path, 'two-ports.yaml');
    const config = readFileSync(join(image, 'config/gateway.yaml'), 'utf8');
    writeFileSync(GATEWAY_CONFIG, config.replace('server:\n', `server:\n  admin_port: ${await freePort()}\n`));
    await using divided = new Spawned(program, args, { cwd: image, env: { ...env, GATEWAY_CONFIG } });
    await divided.shown(/"listening"/);
    await using alsoHealthy = new Spawned(node, check, { cwd: image, env });
    assert.equal(await alsoHealthy.closed(), 0, alsoHealthy.output.err);
  });
});
