import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '../../src/base/logger.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';

/** The code blocks of a language in a page that talk to the gateway. */
function snippetsOf(page: string, language: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map((match) =>
    String(match[1]),
  );
  return blocks.filter((block) => block.includes(ADDRESS) && !block.includes('npm '));
}

describe('the examples in README and docs', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let gateway: Gateway;
  before(async () => {
    const { config } = await loadConfig({ root: ROOT, environment: readEnvironment({}) });
    const providers = { demo: { builtin: 'demo' as const, pace_ms: 0 } };
    const local = { server: { ...config.server, port: 0 }, store: { ...config.store, url: 'memory:' }, providers };
    gateway = await startGateway({ config: { ...config, ...local }, log: silentLogger });
  });
  after(() => gateway.close());

  const run = async (command: string, args: string[]) => {
    await using process = new Spawned(command, args, { cwd: ROOT });
    assert.equal(await process.closed(), 0, process.output.err);
    return process.output.out;
  };

  for (const page of ['README.md', 'docs/getting-started.md']) {
    it(`${page} works with the OpenAI SDK`, async () => {
      const snippets = snippetsOf(page, 'js');
      assert.ok(snippets.length > 0);
      for (const snippet of snippets) {
        const out = await run(process.execPath, [
          '--input-type=module',
          '-e',
          snippet.replaceAll(ADDRESS, gateway.url),
        ]);
        assert.match(out, /demo model/);
      }
    });
  }

  for (const page of ['README.md', 'docs/api.md']) {
    it(`${page} works with curl`, async function () {
      if (spawnSync('curl', ['--version']).error) return this.skip();
      const snippets = snippetsOf(page, 'sh').filter((snippet) => !snippet.includes('$ID'));
      assert.ok(snippets.length > 0);
      for (const snippet of snippets) {
        const out = await run('sh', [
          '-c',
          snippet.replaceAll(ADDRESS, gateway.url).replaceAll('curl ', 'curl -sS --fail '),
        ]);
        assert.match(out, /response\.completed|chat\.completion|CREATED|"object":"list"/);
      }
    });
  }
});
