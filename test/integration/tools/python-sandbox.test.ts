import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../../src/base/json.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { createExecutePythonTool, type ExecutePythonTool } from '../../../src/tools/execute-python/execute-python.ts';
import {
  FILE_SCRIPTS,
  FORGING_SCRIPTS,
  GREEDY_SCRIPTS,
  type HostileScript,
  type HostileTargets,
  JAVASCRIPT_SCRIPTS,
  NETWORK_SCRIPTS,
  PROCESS_SCRIPTS,
} from '../../support/hostile-python.ts';
import { patience } from '../../support/time-limit.ts';

const SECRET = 'canary-7d1f0a93c2';
const GROUPS: Readonly<Record<string, readonly HostileScript[]>> = {
  'files of the host': FILE_SCRIPTS,
  processes: PROCESS_SCRIPTS,
  JavaScript: JAVASCRIPT_SCRIPTS,
  network: NETWORK_SCRIPTS,
  'time, memory and output': GREEDY_SCRIPTS,
  'forged reports': FORGING_SCRIPTS,
};
/** How many scripts run at the same time, as with several runs of a gateway. */
const AT_ONCE = 3;

/** Python that runs scripts one after another, each in a module of its own, and returns what each raised. */
const severalScripts = (scripts: readonly (readonly string[])[]): string => `
import json
from pyodide.code import eval_code_async
raised = []
for name, code in json.loads(${JSON.stringify(JSON.stringify(scripts))}):
    try:
        await eval_code_async(code, globals={"__name__": "__main__", "__builtins__": __builtins__})
        raised.append(f"{name}: null")
    except BaseException as error:
        raised.append(f"{name}: {type(error).__name__}")
" | ".join(raised)`;

/** What hostile code attacks on the host: a secret file, a process and ports; it sees whether they were touched. */
class Host implements AsyncDisposable {
  readonly targets: HostileTargets;
  readonly #stack: AsyncDisposableStack;
  readonly #victim: ChildProcess;
  contacts = 0;

  private constructor(targets: HostileTargets, victim: ChildProcess, stack: AsyncDisposableStack) {
    this.targets = targets;
    this.#victim = victim;
    this.#stack = stack;
  }

  static async open(): Promise<Host> {
    const stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'hostile-python-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const secretFile = join(folder, 'secret.txt');
    await writeFile(secretFile, SECRET);
    const victim = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    stack.defer(() => void victim.kill('SIGKILL'));
    const tcp = createServer((socket) => {
      host.contacts++;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    stack.defer(() => void tcp.close());
    await once(tcp, 'listening');
    const address = tcp.address();
    assert.ok(typeof address === 'object' && address && victim.pid);
    const udp = createSocket('udp4', () => host.contacts++).bind(address.port, '127.0.0.1');
    stack.defer(() => void udp.close());
    const host = new Host({ secretFile, folder, port: address.port, victimPid: victim.pid }, victim, stack);
    return host;
  }

  /** Fails if anything of the host was touched. */
  async assertUntouched(): Promise<void> {
    assert.deepEqual(await readdir(this.targets.folder), ['secret.txt']);
    assert.equal(await readFile(this.targets.secretFile, 'utf8'), SECRET);
    assert.equal(this.contacts, 0, 'the network was reached');
    assert.equal(this.#victim.exitCode ?? this.#victim.signalCode, null, 'another process was ended');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

describe('hostile Python code', function () {
  // Each test starts Python, for most scripts one of their own.
  this.timeout(patience(90));
  let host: Host;
  let tool: ExecutePythonTool;
  /** For scripts that only the time limit can end. */
  let hasty: ExecutePythonTool;
  const inherited = process.env.HOSTILE_PYTHON_CANARY;
  before(async () => {
    process.env.HOSTILE_PYTHON_CANARY = SECRET;
    host = await Host.open();
    // Far more time than any script takes, so that none is stopped by the clock.
    tool = createExecutePythonTool({ timeoutSeconds: 120, memoryMb: 192, maxConcurrent: AT_ONCE });
    hasty = createExecutePythonTool({ timeoutSeconds: 0.3, memoryMb: 192, maxConcurrent: AT_ONCE });
  });
  after(async () => {
    await Promise.all([tool[Symbol.asyncDispose](), hasty[Symbol.asyncDispose]()]);
    await host[Symbol.asyncDispose]();
    if (inherited === undefined) delete process.env.HOSTILE_PYTHON_CANARY;
    else process.env.HOSTILE_PYTHON_CANARY = inherited;
  });

  const attack = async (name: string, code: string, ends?: string) => {
    const signal = new AbortController().signal;
    const attacked = ends === 'timeout' ? hasty : tool;
    const output = await attacked.call({ code }, { signal, log: silentLogger });
    const result = output.result(() => 0);
    assert.ok(isObject(result));
    const text = JSON.stringify(result);
    assert.ok(!text.includes(SECRET), `${name} read the secret: ${text}`);
    assert.ok(text.length < 400_000, `${name} gave ${text.length} characters`);
    assert.ok(!text.includes('"result":"forged'), `${name} forged a result`);
    const error = isObject(result.error) ? result.error.code : undefined;
    if (ends) assert.equal(error, ends, `${name}: ${text.slice(0, 2_000)}`);
    return result;
  };

  /** Runs the scripts that raise an exception or run through, all in one interpreter. */
  const attackTogether = async (scripts: readonly HostileScript[]): Promise<void> => {
    const coded = scripts.map(({ name, code }) => [name, code(host.targets)]);
    const names = scripts.map(({ name }) => name).join(', ');
    const { result, truncated } = await attack(names, severalScripts(coded));
    assert.equal(truncated, undefined, 'no output was cut off');
    const raised = scripts.map(({ name, raises }) => `${name}: ${raises}`);
    assert.deepEqual(String(result).slice(1, -1).split(' | '), raised);
  };

  it('is tried with at least forty scripts', () => {
    assert.ok(Object.values(GROUPS).flat().length >= 40);
  });

  for (const [group, scripts] of Object.entries(GROUPS)) {
    it(`reaches nothing and blocks nothing: ${group} (${scripts.length} scripts)`, async () => {
      const began = performance.now();
      const before = process.threadCpuUsage();
      const together = scripts.filter(({ raises }) => raises !== undefined);
      const alone = scripts.filter(({ raises }) => raises === undefined);
      const attacks = [
        ...(together.length > 0 ? [() => attackTogether(together)] : []),
        ...alone.map(
          ({ name, code, ends }) =>
            () =>
              attack(name, code(host.targets), ends),
        ),
      ].values();
      const worker = async () => {
        for (const each of attacks) await each();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await host.assertUntouched();
      const { user, system } = process.threadCpuUsage(before);
      const share = (user + system) / 1000 / (performance.now() - began);
      assert.ok(share < 0.5, `this thread worked for ${Math.round(share * 100)} % of the time`);
    });
  }

  it('leaves a working sandbox', async () => {
    const output = await tool.call({ code: '6 * 7' }, { signal: new AbortController().signal, log: silentLogger });
    assert.deepEqual(
      output.result(() => 0),
      { stdout: '', stderr: '', result: '42' },
    );
  });
});
