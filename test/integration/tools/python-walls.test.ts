import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { processUsage } from '../../../src/base/load/process-usage.ts';
import { sandboxCommand } from '../../../src/tools/execute-python/command.ts';
import { findConfinement } from '../../../src/tools/execute-python/confinement.ts';
import { READY_LINE } from '../../../src/tools/execute-python/messages.ts';
import { ForgedReportError, ReportReader } from '../../../src/tools/execute-python/report-reader.ts';
import { patience } from '../../support/time-limit.ts';

/** What the sandbox's flags alone must deny if code ever runs in its JavaScript. Each probe throws or rejects there. */
const NODE_PROBES: Readonly<Record<string, string>> = {
  'reading a file': "(await import('node:fs')).readFileSync('/etc/hostname')",
  'reading the environment of a process': "(await import('node:fs')).readFileSync('/proc/self/environ')",
  'writing a file': "(await import('node:fs')).writeFileSync('/tmp/walls-probe', 'x')",
  'a TCP connection': "await event((await import('node:net')).connect(9, '127.0.0.1'), 'connect')",
  'a Unix socket': "await event((await import('node:net')).connect('/tmp/walls-probe.sock'), 'connect')",
  listening: "await event((await import('node:net')).createServer().listen(0), 'listening')",
  UDP: "await event((await import('node:dgram')).createSocket('udp4').bind(0), 'listening')",
  'a name look-up': "await (await import('node:dns')).promises.lookup('localhost')",
  fetch: "await fetch('http://127.0.0.1:9/')",
  'a process': "(await import('node:child_process')).spawnSync('id').error ?? ok",
  'replacing the process': "process.execve('/bin/true', ['true'], {})",
  'a worker': "new (await import('node:worker_threads')).Worker('1', { eval: true })",
  'the inspector': "(await import('node:inspector')).open(0)",
  WASI: "new (await import('node:wasi')).WASI({ version: 'preview1', preopens: { '/': '/' } })",
  SQLite: "new (await import('node:sqlite')).DatabaseSync('/tmp/walls-probe.db')",
  'an addon': "process.dlopen({ exports: {} }, '/none.node')",
  'code from a string': "new Function('return 1')()",
};

describe('the sandbox of execute_python', function () {
  // Each test starts Python, some let it run into its limits.
  this.timeout(patience(60));
  it('denies everything outside by Node’s own permissions', async () => {
    const { file, args } = sandboxCommand('main', { memoryMb: 128, cpuSeconds: 20 });
    const flags = args.slice(
      0,
      args.findIndex((each) => each.endsWith('main.ts')),
    );
    const probes = Object.entries(NODE_PROBES).map(
      ([name, code]) =>
        `try { ${code}; open.push(${JSON.stringify(name)}); } catch (error) { refused.push(error.cause?.code ?? error.code ?? error.name); }`,
    );
    const program = `
      const event = (from, name) => new Promise((resolve, reject) => { from.once('error', reject); from.once(name, resolve); });
      const open = [], refused = [];
      ${probes.join('\n')}
      process.stdout.write(JSON.stringify({ open, refused }));
      process.exit(0);`;
    const child = spawn(file, [...flags, '--input-type=module', '--eval', program], {
      env: {},
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { open, refused } = JSON.parse(await text(child.stdout));
    assert.deepEqual(open, []);
    assert.equal(refused.length, Object.keys(NODE_PROBES).length);
    // A denied fetch is just a TypeError; one that got through would have the system's error as its cause.
    const denials = [
      'TypeError',
      'ERR_ACCESS_DENIED',
      'ERR_DLOPEN_DISABLED',
      'ERR_UNKNOWN_BUILTIN_MODULE',
      'EvalError',
    ];
    assert.deepEqual(
      refused.filter((code: string) => !denials.includes(code)),
      [],
    );
  });

  it('ends a process by CPU time, even if nobody is left to kill it', async () => {
    const { file, args } = sandboxCommand('main', { memoryMb: 128, cpuSeconds: 4 });
    const child = spawn(file, args, { env: {}, stdio: ['pipe', 'ignore', 'ignore', 'pipe'] });
    const job = { nonce: 'n', code: 'while True: pass', limits: { stdout: 10, stderr: 10, result: 10 } };
    child.stdin?.write(`${JSON.stringify(job)}\n`);
    const [, signal] = await once(child, 'exit');
    assert.match(String(signal), /SIGXCPU|SIGKILL/);
  });

  it('ends with the gateway when that is killed', async () => {
    const program = fileURLToPath(new URL('../../support/python-owner.ts', import.meta.url));
    const owner = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(owner.stdout, 'data');
    const pids: number[] = JSON.parse(String(line));
    assert.ok(pids.length >= 1);
    owner.kill('SIGKILL');
    const limit = Date.now() + 60_000;
    while ((await Promise.all(pids.map(processUsage))).some((usage) => usage !== undefined)) {
      assert.ok(Date.now() < limit, 'a sandbox outlived its gateway');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it('has no privileges and another user, as far as the system allows', async function () {
    const confinement = await findConfinement();
    if (confinement.restrictions.length === 0) return this.skip();
    const [file = '', ...args] = [
      ...confinement.command,
      '/bin/sh',
      '-c',
      'cat /proc/self/status; ls /sys/class/net; id -u',
    ];
    const child = spawn(file, args, { env: {}, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] });
    const output = await text(child.stdout);
    assert.match(output, /NoNewPrivs:\s1/);
    const has = (what: string) => confinement.restrictions.some((each) => each.includes(what));
    if (has('no capabilities')) assert.match(output, /CapEff:\s0+\n[\s\S]*CapBnd:\s0+\n/);
    if (has('nobody')) assert.match(output, /\n65534\s*$/);
  });

  it('is not started without its walls because too many files are open', async () => {
    const module = new URL('../../../src/tools/execute-python/confinement.ts', import.meta.url);
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { findConfinement } from '${module}';
      const open = [];
      try { for (;;) open.push(openSync('/dev/null')); } catch {}
      // One is needed to look for files, more to start a process.
      closeSync(open.pop());
      console.log(await findConfinement().then(({ restrictions }) => restrictions.length, () => 'not now'));
      for (const file of open) closeSync(file);
      console.log((await findConfinement()).restrictions.length);`;
    const args = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script];
    const child = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const { restrictions } = await findConfinement();
    assert.equal(await text(child.stdout), `not now\n${restrictions.length}\n`);
  });

  it('has no network but loopback, if the system allows it', async function () {
    const confinement = await findConfinement();
    if (!confinement.restrictions.some((each) => each.includes('network'))) return this.skip();
    const [file = '', ...args] = [...confinement.command, '/bin/cat', '/proc/net/dev'];
    const child = spawn(file, args, { env: {}, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] });
    const interfaces = [...(await text(child.stdout)).matchAll(/^\s*(\w+):/gm)].map(([, name]) => name);
    assert.deepEqual(interfaces, ['lo']);
  });

  it('is started through the confinement command', () => {
    const confinement = { command: ['/usr/bin/setpriv', '--no-new-privs', '--'], restrictions: ['no new privileges'] };
    const { file, args } = sandboxCommand('main', { memoryMb: 128, cpuSeconds: 4, confinement });
    assert.equal(file, '/usr/bin/setpriv');
    assert.deepEqual(args.slice(0, 4), ['--no-new-privs', '--', '/bin/sh', '-c']);
  });
});

describe('ReportReader', function () {
  // Each test starts Python, some let it run into its limits.
  this.timeout(patience(60));
  const limits = { stdout: 10, stderr: 10, result: 10 };
  const reader = (...lines: string[]) => {
    const made = new ReportReader('secret', limits);
    made.push(Buffer.from(`${READY_LINE}\n`));
    for (const line of lines) made.push(Buffer.from(`${line}\n`));
    return made;
  };
  const end = 'secret {"type":"end","outcome":"{\\"result\\":\\"1\\"}"}';

  it('rejects reports without the nonce, malformed or oversized', () => {
    assert.throws(() => reader('{"type":"end","outcome":"{}"}'), ForgedReportError);
    assert.throws(() => reader('guess {"type":"end","outcome":"{}"}'), ForgedReportError);
    assert.throws(() => reader('secret {"type":"kill"}'), ForgedReportError);
    assert.throws(() => reader('secret not json'), ForgedReportError);
    assert.throws(() => new ReportReader('secret', limits).push(Buffer.from('something\n')), ForgedReportError);
    assert.throws(() => reader('x'.repeat(100_000)), ForgedReportError);
    const flood = reader();
    assert.throws(() => {
      for (let i = 0; i < 1_000; i++) flood.push(Buffer.alloc(1_000, 'x'));
    }, ForgedReportError);
  });

  it('reads the same however the bytes are split', () => {
    const bytes = Buffer.from(`${READY_LINE}\nsecret {"type":"output","stream":"stdout","text":"añ😀"}\n${end}\n`);
    for (let at = 1; at < bytes.length; at++) {
      const made = new ReportReader('secret', limits);
      made.push(bytes.subarray(0, at));
      made.push(bytes.subarray(at));
      assert.deepEqual(made.record, { stdout: 'añ😀', stderr: '', truncated: false, outcome: { result: '1' } });
    }
  });

  it('reads up to the end report, and limits each output', () => {
    const made = reader(
      'secret {"type":"output","stream":"stderr","text":"0123456789abc"}',
      end,
      end.replace('1', '2'),
      'junk',
    );
    assert.equal(made.record.stderr, '0123456789');
    assert.deepEqual(made.record.outcome, { result: '1' });
  });

  it('reports an invalid outcome as a crash', () => {
    for (const outcome of ['', 'null', '{"result":1}', '[]']) {
      const made = reader(`secret ${JSON.stringify({ type: 'end', outcome })}`);
      assert.equal(made.record.outcome?.error?.code, 'crashed');
    }
  });
});
