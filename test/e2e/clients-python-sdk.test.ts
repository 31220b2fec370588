import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { clientGateway, KEY, limitedKey, MODEL, narrowKey, QUESTION, spentKey } from '../support/client-gateway.ts';
import { refusedUrl } from '../support/scripted-provider.ts';

const SCRIPT = fileURLToPath(new URL('../clients/openai_sdk.py', import.meta.url));
/** The names of the script's checks, so that each is a test of its own. */
const CHECKS = [...readFileSync(SCRIPT, 'utf8').matchAll(/^@check\("(.+)"\)$/gm)].map(([, name = '']) => name);
const LIMIT_MS = 90_000;
const run = promisify(execFile);

const checked = z.object({ name: z.string(), error: z.string().nullable(), skipped: z.string().nullable() });

/**
 * The official Python SDK itself. It needs a Python that has the package `openai`: the one that `PYTHON_OPENAI` names,
 * else `python3`. Without one the tests are skipped and say so; what the SDK sends is tested in clients-python.test.ts.
 */
describe('the official Python SDK', function () {
  this.timeout(LIMIT_MS + 20_000);
  const gateway = clientGateway(['python']);
  let reason: string | undefined;
  let results = new Map<string, z.infer<typeof checked>>();

  before(async () => {
    const python = process.env.PYTHON_OPENAI ?? 'python3';
    reason = await missing(python);
    if (reason !== undefined) return;
    const settings = {
      base_url: gateway.baseURL,
      refused_url: await refusedUrl(),
      keys: { ...KEY, limited: limitedKey('python'), narrow: narrowKey('python'), spent: spentKey('python') },
      models: MODEL,
      question: QUESTION,
    };
    const { stdout } = await run(python, [SCRIPT, JSON.stringify(settings)], { timeout: LIMIT_MS });
    const [about, ...lines] = stdout.trim().split('\n');
    console.log(`    ${about}`);
    results = new Map(lines.map((line) => checked.parse(JSON.parse(line))).map((result) => [result.name, result]));
  });

  it('runs if a Python has the package', function () {
    if (reason !== undefined) {
      console.log(`    skipped: ${reason}`);
      this.skip();
    }
    assert.deepEqual([...results.keys()], CHECKS);
  });

  for (const name of CHECKS) {
    it(name, function () {
      if (reason !== undefined) this.skip();
      const { error, skipped } = results.get(name) ?? { error: 'the script ended before it', skipped: null };
      assert.equal(error, null, error ?? '');
      if (skipped !== null) this.skip();
    });
  }
});

/** Why this Python cannot run the SDK, or undefined if it can. Throws if `PYTHON_OPENAI` names one that cannot. */
async function missing(python: string): Promise<string | undefined> {
  try {
    await run(python, ['-c', 'import openai, pydantic'], { timeout: 20_000 });
    return undefined;
  } catch (cause) {
    const problem = `${python} has no package openai: name one that has in PYTHON_OPENAI`;
    if (process.env.PYTHON_OPENAI !== undefined) throw new Error(problem, { cause });
    return problem;
  }
}
