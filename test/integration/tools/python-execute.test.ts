import assert from 'node:assert/strict';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { processUsage } from '../../../src/base/load/process-usage.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { createExecutePythonTool, type ExecutePythonTool } from '../../../src/tools/execute-python/execute-python.ts';
import { ToolError } from '../../../src/tools/tool.ts';
import { eventually } from '../../support/eventually.ts';
import { patience } from '../../support/time-limit.ts';

const noSource = () => 0;
/** Python that never ends, and leaves the processor to others. */
const ENDLESS = 'import asyncio; await asyncio.Event().wait()';

describe('execute_python', function () {
  // Each test starts Python.
  this.timeout(patience(30));
  let tool: ExecutePythonTool;
  before(() => {
    tool = createExecutePythonTool({ timeoutSeconds: 20, memoryMb: 256, maxConcurrent: 2 });
  });
  after(() => tool[Symbol.asyncDispose]());

  const call = (args: JsonObject, signal: AbortSignal = new AbortController().signal) =>
    tool.call(args, { signal, log: silentLogger });
  const run = async (code: string): Promise<JsonValue> => (await call({ code })).result(noSource);

  it('returns the printed text and the value of the last expression', async () => {
    const output = await call({ code: 'import math\nprint("hello")\nmath.factorial(20)' });
    assert.equal(output.failed, false);
    assert.deepEqual(output.result(noSource), { stdout: 'hello\n', stderr: '', result: '2432902008176640000' });
  });

  it('shows an exception with the lines of the code, without those of the sandbox', async () => {
    const output = await call({ code: 'def f():\n    return 1 / 0\nprint("before")\nf()' });
    assert.equal(output.failed, true);
    const result = output.result(noSource);
    assert.deepEqual(result, {
      stdout: 'before\n',
      stderr: '',
      result: null,
      error: {
        code: 'python_error',
        message:
          'Traceback (most recent call last):\n  File "<code>", line 4, in <module>\n    f()\n    ~^^\n' +
          '  File "<code>", line 2, in f\n    return 1 / 0\n           ~~^~~\nZeroDivisionError: division by zero',
      },
    });
  });

  it('has the standard library, top-level await, and fresh randomness', async () => {
    const code = `
import asyncio, csv, decimal, hashlib, html, itertools, json, random, re, sqlite3, statistics, uuid, zoneinfo
await asyncio.sleep(0)
db = sqlite3.connect(":memory:")
print(db.execute("select 40 + 2").fetchone()[0], statistics.mean([1, 2, 6]), decimal.Decimal("0.1") * 3)
random.random()`;
    const results = await Promise.all([run(code), run(code)]);
    const values = results.map((each) => {
      assert.ok(typeof each === 'object' && each !== null && !Array.isArray(each));
      assert.equal(each.stdout, '42 3 0.3\n');
      return each.result;
    });
    assert.notEqual(values[0], values[1]);
  });

  it('explains that packages and network are missing', async () => {
    const missing = await run('import numpy');
    assert.match(JSON.stringify(missing), /No module named 'numpy'.*Only the Python standard library.*missing_package/);
    const network = await run('import urllib.request; urllib.request.urlopen("https://example.com")');
    assert.match(JSON.stringify(network), /There is no network in this sandbox.*no_network/);
  });

  it('takes SystemExit as the end, and as an error only with a message', async () => {
    assert.deepEqual(await run('print(1)\nexit()'), { stdout: '1\n', stderr: '', result: null });
    assert.match(JSON.stringify(await run('import sys; sys.exit("gone wrong")')), /SystemExit: gone wrong/);
  });

  it('starts fresh with every call, and returns null if the last statement is not an expression', async () => {
    const leaves = 'import builtins; builtins.left = 1\nwith open("/tmp/left", "w") as file: file.write("x")';
    assert.deepEqual(await run(leaves), { stdout: '', stderr: '', result: null });
    assert.deepEqual(await run('import builtins, os; hasattr(builtins, "left"), os.path.exists("/tmp/left")'), {
      stdout: '',
      stderr: '',
      result: '(False, False)',
    });
  });

  it('truncates long output and says so', async () => {
    const result = await run('import sys\nprint("o" * 100_000)\nprint("e" * 100_000, file=sys.stderr)\n"r" * 100_000');
    assert.ok(typeof result === 'object' && result !== null && !Array.isArray(result));
    assert.equal(result.truncated, true);
    assert.equal(String(result.stdout).length, 30_000);
    assert.equal(String(result.stderr).length, 10_000);
    assert.match(String(result.result), /^'r{19999}\n\[cut: 100002 characters\]$/);
  });

  it('truncates at whole characters', async () => {
    const waves = '"x" + chr(0x1f30a) * 50_000';
    for (const code of [
      `import sys; print(${waves}); print(${waves}, file=sys.stderr); ${waves}`,
      `raise ValueError(${waves})`,
    ]) {
      const result = await run(code);
      const texts = JSON.stringify(result);
      assert.match(texts, /🌊/);
      assert.doesNotMatch(texts, /\\ud83c/, 'half a character');
    }
  });

  it('rejects invalid arguments', async () => {
    const wrong: JsonObject[] = [{}, { code: '' }, { code: 1 }, { code: 'x'.repeat(200_001) }];
    for (const args of wrong) {
      await assert.rejects(call(args), (error) => error instanceof ToolError && error.code === 'invalid_arguments');
    }
  });

  it('stops at once when the call is aborted, and leaves no process behind', async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const running = call({ code: 'while True: pass' }, controller.signal);
    await untilBusy(tool);
    const pids = [...tool.pids];
    controller.abort(reason);
    await assert.rejects(running, reason);
    await eventually('the aborted process is gone', async () => {
      const alive = await Promise.all(pids.map(async (pid) => (await processUsage(pid)) !== undefined));
      return alive.filter(Boolean).length < pids.length;
    });
  });

  it('queues calls beyond maxConcurrent, and drops aborted ones', async () => {
    const controller = new AbortController();
    const loops = [1, 2].map(() => call({ code: ENDLESS }, controller.signal));
    const waiting = new AbortController();
    const third = call({ code: '3' }, waiting.signal);
    waiting.abort(new Error('no more patience'));
    await assert.rejects(third, /no more patience/);
    const fourth = run('4');
    controller.abort(new Error('enough'));
    for (const loop of loops) await assert.rejects(loop, /enough/);
    assert.deepEqual(await fourth, { stdout: '', stderr: '', result: '4' });
    // Two runs may work at the same time, beside one spare process.
    assert.ok(tool.pids.length <= 3, `${tool.pids.length} processes`);
  });

  it('ends an idle spare process, and every process when it is disposed of', async () => {
    const idle = createExecutePythonTool({ idleSeconds: 0.05, timeoutSeconds: 20 });
    const options = { signal: new AbortController().signal, log: silentLogger };
    await idle.call({ code: '1' }, options);
    await eventually('the spare process is gone', async () => idle.pids.length === 0);

    const running = idle.call({ code: ENDLESS }, options);
    running.catch(() => {});
    await eventually('a sandbox runs', async () => idle.pids.length > 0);
    const pids = [...idle.pids];
    await idle[Symbol.asyncDispose]();
    assert.deepEqual(
      await Promise.all(pids.map(processUsage)),
      pids.map(() => undefined),
    );
    await assert.rejects(running, (error) => error instanceof ToolError && error.code === 'unavailable');
  });
});

/** Waits until a sandbox exists besides the one that is loaded in advance. */
function untilBusy(tool: ExecutePythonTool): Promise<boolean> {
  return eventually('a sandbox runs', async () => tool.pids.length >= 2);
}
