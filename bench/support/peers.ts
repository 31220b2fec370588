import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import type { Peers } from './options.ts';
import { startProgram, startScript, type Target } from './processes.ts';

const PACKAGES = ['fastify@5', '@fastify/http-proxy@11', '@portkey-ai/gateway@1'];

/** Installs the peers into a folder outside of the project, once; nginx where it can be found or installed. */
export function installPeers(): Peers {
  const folder = join(tmpdir(), 'research-gateway-bench-peers');
  if (!existsSync(join(folder, 'node_modules', '@portkey-ai'))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES], {
      cwd: folder,
      stdio: 'ignore',
    });
  }
  const nginx = findNginx();
  const responses = bundleResponses(folder);
  return { folder, ...(nginx === undefined ? {} : { nginx }), ...(responses === undefined ? {} : { responses }) };
}

/** No registry has huggingface/responses.js: `RESPONSES_JS` in the environment names a checkout of it. */
function bundleResponses(folder: string): string | undefined {
  const checkout = process.env.RESPONSES_JS;
  if (checkout === undefined) return undefined;
  const own = join(folder, 'responses.js');
  const file = join(own, 'bundle.mjs');
  if (existsSync(file)) return file;
  for (const part of ['package.json', 'src']) cpSync(join(checkout, part), join(own, part), { recursive: true });
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: own, stdio: 'ignore' });
  run('npm', 'install', '--omit=dev', '--no-audit', '--no-fund', '--ignore-scripts', 'esbuild@0');
  const bundle = ['--bundle', '--platform=node', '--format=esm', '--packages=external', '--outfile=bundle.mjs'];
  run('npx', 'esbuild', 'src/index.ts', ...bundle);
  return file;
}

function findNginx(): string | undefined {
  return ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/opt/homebrew/bin/nginx'].find(existsSync);
}

/** `@fastify/http-proxy` in front of the provider, bare. */
export function startFastify(folder: string, provider: Target): Promise<Target> {
  return startScript('targets/fastify-proxy.ts', [provider.url, folder]);
}

/** Portkey's gateway, which takes the provider's address from a header of each request. */
export async function startPortkey(folder: string): Promise<Target> {
  const port = await freePort();
  const script = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const target = await startProgram(process.execPath, [script, `--port=${port}`, '--headless'], {
    ready: /Ready for connections/,
    env: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
  });
  return { ...target, url: `http://127.0.0.1:${port}` };
}

/** responses.js in front of the provider: it translates chat streams to Responses events, and stores nothing. */
export async function startResponses(file: string, provider: Target): Promise<Target> {
  const port = await freePort();
  const target = await startProgram(process.execPath, [file], {
    ready: /Server started/,
    env: { PORT: String(port), OPENAI_BASE_URL: provider.url },
  });
  return { ...target, url: `http://127.0.0.1:${port}` };
}

export function portkeyHeaders(provider: Target): Record<string, string> {
  return { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': provider.url };
}

/** nginx in front of the provider, with kept connections, one worker. */
export async function startNginx(nginx: string, options: { provider: Target } | { files: string }): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  const provider = 'provider' in options ? new URL(options.provider.url) : undefined;
  const location =
    'files' in options
      ? `root ${options.files}; default_type text/event-stream;`
      : 'proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;';
  await writeFile(
    file,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr; events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 10000000; sendfile on;
  client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
  ${provider ? `upstream up { server ${provider.host}; keepalive 512; }` : ''}
  server { listen 127.0.0.1:${port} backlog=4096; location / { ${location} } }
}`,
  );
  const target = await startProgram(nginx, ['-c', file, '-e', 'stderr']);
  const worker = execFileSync('pgrep', ['-P', String(target.pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')[0];
  return { ...target, pid: Number(worker), url: `http://127.0.0.1:${port}` };
}
