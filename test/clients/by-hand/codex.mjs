import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Codex CLI does a task of two commands with a model whose provider speaks chat completions only, over HTTP and over a WebSocket. */
const { baseURL, apiKey, coder } = JSON.parse(process.argv[2]);
const program = join(process.cwd(), 'node_modules/.bin/codex');
const asked = ['exec', '--skip-git-repo-check', 'Write what powers the lighthouse into power.txt.'];

async function does(name, sockets) {
  const home = join(process.cwd(), `home-${name}`);
  const work = join(process.cwd(), `work-${name}`);
  await mkdir(home, { recursive: true });
  await mkdir(work, { recursive: true });
  await writeFile(
    join(home, 'config.toml'),
    `model = "${coder}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.gateway]
name = "Research gateway"
base_url = "${baseURL}"
env_key = "GATEWAY_KEY"
wire_api = "responses"
supports_websockets = ${sockets}
`,
  );
  const env = { ...process.env, CODEX_HOME: home, GATEWAY_KEY: apiKey };
  const child = promisify(execFile)(program, asked, { cwd: work, env });
  child.child.stdin?.end();
  const { stdout, stderr } = await child;
  if (sockets && /falling back/i.test(stderr)) throw new Error(`not over a WebSocket: ${stderr}`);
  return { [`${name} said`]: stdout, [`${name} written`]: await readFile(join(work, 'power.txt'), 'utf8') };
}

console.log(JSON.stringify({ ...(await does('http', false)), ...(await does('socket', true)) }));
