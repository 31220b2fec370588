import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { findConfinement } from '../../../src/tools/execute-python/confinement.ts';
import { SandboxProcess } from '../../../src/tools/execute-python/sandbox-process.ts';
import { ParsePool } from '../../../src/tools/fetch-url-content/parsing/parse-pool.ts';
import { FolderIndex } from '../../../src/tools/web-search/local/folder-index.ts';
import { htmlBombs, pdfBombs } from '../../support/bombs.ts';
import { patience } from '../../support/time-limit.ts';
import { zipOf } from '../../support/zip-file.ts';

const never = new AbortController().signal;
const bytesOf = (text: string) => new TextEncoder().encode(text);
const job = (body: string | Uint8Array, kind: 'html' | 'pdf' | 'csv' = 'html') => ({
  kind,
  bytes: typeof body === 'string' ? bytesOf(body) : body,
  charset: undefined,
  url: 'https://example.org/',
});
const GOOD = job('<p>Good page</p>');

/** A page that keeps the parser busy for longer than any limit here. */
async function hanging() {
  const bomb = htmlBombs().find(({ name }) => name === 'many tags with many attributes');
  assert.ok(bomb);
  const body = Buffer.from(await bomb.body());
  return job(Buffer.concat(Array.from({ length: 8 }, () => body)));
}

/** Child processes of a process, from Linux's own list. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((id) => readFile(`/proc/${pid}/task/${id}/children`, 'utf8').catch(() => '')),
  );
  return lists.join(' ').split(' ').filter(Boolean).map(Number);
}

describe('parser processes', function () {
  // Parsers run into their limits of time.
  this.timeout(patience(30));
  it('are killed with a document that takes too long, and the next one is read', async () => {
    using pool = new ParsePool({ size: 1, limits: { timeMs: 300 } });
    await assert.rejects(pool.parse(await hanging(), { signal: never }), { kind: 'timeout' });
    assert.equal((await pool.parse(GOOD, { signal: never })).content, 'Good page');
  });

  it('are killed with a document that takes too much memory outside the JavaScript heap', async () => {
    const bomb = pdfBombs().find(({ name }) => name === 'a PDF that inflates twice');
    assert.ok(bomb);
    using pool = new ParsePool({ size: 1, limits: { timeMs: 10_000, memoryBytes: 300 << 20 } });
    await assert.rejects(pool.parse(job(await bomb.body(), 'pdf'), { signal: never }), { kind: 'memory' });
    assert.equal((await pool.parse(GOOD, { signal: never })).content, 'Good page');
  });

  it('have no privileges, and another user and network if the system allows it', async function () {
    if (!existsSync('/usr/bin/setpriv')) return this.skip();
    const before = new Set(await childrenOf(process.pid));
    using pool = new ParsePool({ size: 1 });
    await pool.parse(GOOD, { signal: never });
    const [child] = (await childrenOf(process.pid)).filter((pid) => !before.has(pid));
    const status = await readFile(`/proc/${child}/status`, 'utf8');
    assert.match(status, /^NoNewPrivs:\t1$/m);
    const confinement = process.getuid?.() === 0 ? await findConfinement() : undefined;
    if (confinement?.restrictions.includes('the user nobody')) assert.match(status, /^Uid:\t65534\t/m);
    assert.match(status, /^CapEff:\t0+$/m);
  });

  it('are two at most, and leave a core to the gateway', async () => {
    const before = new Set(await childrenOf(process.pid));
    using pool = new ParsePool();
    await Promise.all(Array.from({ length: 4 }, () => pool.parse(GOOD, { signal: never })));
    const started = (await childrenOf(process.pid)).filter((pid) => !before.has(pid));
    assert.equal(started.length, availableParallelism() > 2 ? 2 : 1);
  });

  it('are released at once by a cancelled caller, working or waiting', async () => {
    using pool = new ParsePool({ size: 1, limits: { timeMs: 60_000 } });
    const reason = new Error('cancelled');
    const working = new AbortController();
    const waiting = new AbortController();
    await pool.parse(GOOD, { signal: never });
    const first = pool.parse(await hanging(), { signal: working.signal });
    const second = pool.parse(GOOD, { signal: waiting.signal });
    const third = pool.parse(GOOD, { signal: never });
    waiting.abort(reason);
    await assert.rejects(second, reason);
    working.abort(reason);
    await assert.rejects(first, reason);
    assert.equal((await third).content, 'Good page');
  });

  it('limit the number of waiting documents, which leave with their callers', async () => {
    using pool = new ParsePool({ size: 1, limits: { timeMs: 60_000 }, maxWaiting: 1 });
    const patience = new AbortController();
    const first = pool.parse(await hanging(), { signal: patience.signal });
    const second = pool.parse(GOOD, { signal: patience.signal });
    await assert.rejects(pool.parse(GOOD, { signal: never }), { kind: 'busy' });
    const reason = new Error('no more patience');
    patience.abort(reason);
    for (const each of [first, second]) await assert.rejects(each, reason);
  });

  it('may start slowly, and stay for the next document if a caller leaves', async function () {
    if (!existsSync(`/proc/${process.pid}/task`)) this.skip();
    const before = new Set(await childrenOf(process.pid));
    const started = async () => (await childrenOf(process.pid)).filter((pid) => !before.has(pid));
    using pool = new ParsePool({ size: 1, limits: { timeMs: 300 } });
    const leaving = new AbortController();
    const abandoned = pool.parse(GOOD, { signal: leaving.signal });
    let children: number[] = [];
    while (children.length === 0) children = await started();
    const [child] = children;
    assert.ok(child !== undefined);
    process.kill(child, 'SIGSTOP');
    leaving.abort(new Error('left'));
    await assert.rejects(abandoned, /left/);
    const read = pool.parse(GOOD, { signal: never });
    // How long a start takes on an overloaded machine; this is why the test takes more than ten seconds.
    await delay(10_500);
    process.kill(child, 'SIGCONT');
    assert.equal((await read).content, 'Good page');
    assert.deepEqual(await started(), [child]);
  });

  it('have as much time for a document that arrives slowly, because the gateway is kept from running', async () => {
    const limitMs = 500;
    using pool = new ParsePool({ size: 1, limits: { timeMs: limitMs } });
    await pool.parse(GOOD, { signal: never });
    const picture = { name: 'word/media/image1.png', data: Buffer.alloc(7_900_000), stored: true };
    const data = '<w:document><w:body><w:p><w:r><w:t>Otters.</w:t></w:r></w:p></w:body></w:document>';
    const bytes = zipOf([{ name: '[Content_Types].xml', data: '' }, { name: 'word/document.xml', data }, picture]);
    const began = performance.now();
    const read = pool.parse({ ...GOOD, kind: 'docx', bytes }, { signal: never });
    // Much of the document is still to be sent after each of these turns, and its process waits.
    while (performance.now() - began < 3 * limitMs) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
      await delay(1);
    }
    assert.equal((await read).content, 'Otters.');
  });

  it('may be killed by the system without losing a document of a folder', async function () {
    if (!existsSync(`/proc/${process.pid}/task`)) this.skip();
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    await writeFile(join(folder, 'pumps.rtf'), '{\\rtf1 A pump moves warmth.}');
    const before = new Set(await childrenOf(process.pid));
    using index = new FolderIndex({ folder, onTrouble: assert.fail });
    const find = async () => (await index.search('warmth', 5)).hits.length;
    const first = find();
    let started: number[] = [];
    while (started.length === 0) started = (await childrenOf(process.pid)).filter((pid) => !before.has(pid));
    for (const child of started) process.kill(child, 'SIGKILL');
    assert.equal(await first, 0);
    while ((await find()) === 0) await delay(20);
    await rm(folder, { recursive: true });
  });

  it('do not get the signals of the terminal of the gateway, and neither does Python', async function () {
    if (!existsSync(`/proc/${process.pid}/task`)) this.skip();
    using pool = new ParsePool({ size: 1 });
    await pool.parse(GOOD, { signal: never });
    using python = new SandboxProcess({
      timeoutMs: 1000,
      memoryMb: 64,
      limits: { stdout: 100, stderr: 100, result: 100 },
    });
    const sessions = (await childrenOf(process.pid)).map((pid) => sessionOf(pid));
    assert.ok(sessions.length >= 2 && python.pid !== undefined);
    assert.ok(!(await Promise.all(sessions)).includes(await sessionOf(process.pid)));
  });

  it('report an unreadable document without ending', async () => {
    using pool = new ParsePool({ size: 1 });
    await assert.rejects(pool.parse(job('%PDF-1.7 nothing', 'pdf'), { signal: never }), { kind: 'unreadable' });
    assert.equal((await pool.parse(GOOD, { signal: never })).content, 'Good page');
  });

  it('have no environment and no permissions, and end with the pool', async function () {
    if (!existsSync(`/proc/${process.pid}/task`)) this.skip();
    const before = new Set(await childrenOf(process.pid));
    const pool = new ParsePool({ size: 1 });
    await pool.parse(GOOD, { signal: never });
    const [child, ...others] = (await childrenOf(process.pid)).filter((pid) => !before.has(pid));
    assert.ok(child !== undefined && others.length === 0);
    const environment = (await readFile(`/proc/${child}/environ`, 'utf8')).split('\0').filter(Boolean);
    assert.deepEqual(
      environment.filter((entry) => !/^(NODE_CHANNEL_|PWD=|OLDPWD=|SHLVL=|_=)/.test(entry)),
      [],
    );
    const command = (await readFile(`/proc/${child}/cmdline`, 'utf8')).split('\0');
    assert.ok(command.includes('--permission'));
    assert.ok(!command.some((part) => /--allow-(?!fs-read=)/.test(part)), command.join(' '));
    pool[Symbol.dispose]();
    while (existsSync(`/proc/${child}`) && !(await isZombie(child))) await new Promise(setImmediate);
  });

  it('end when the gateway is killed', async function () {
    if (!existsSync(`/proc/${process.pid}/task`)) this.skip();
    const module = new URL('../../../src/tools/fetch-url-content/parsing/parse-pool.ts', import.meta.url).href;
    const script = `
      import { ParsePool } from ${JSON.stringify(module)};
      const pool = new ParsePool({ size: 1 });
      await pool.parse({ kind: 'html', bytes: new Uint8Array([60, 112, 62, 120]), charset: undefined, url: 'https://example.org/' },
        { signal: new AbortController().signal });
      console.log('read');
      setInterval(() => {}, 1000);`;
    const gateway = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.ok(gateway.pid !== undefined);
    await once(createInterface(gateway.stdout), 'line');
    const children = await childrenOf(gateway.pid);
    assert.equal(children.length, 1);
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    for (const child of children) {
      while (existsSync(`/proc/${child}`) && !(await isZombie(child))) await new Promise(setImmediate);
    }
  });
});

/** The session of a process: a terminal sends signals to the processes of its session. */
async function sessionOf(pid: number): Promise<string | undefined> {
  return /\) \S (?:\d+ ){2}(\d+)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

async function isZombie(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tZ');
  return /^State:\s+Z/m.test(status);
}
