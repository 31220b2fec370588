import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { RunEvent } from '../../src/protocol/events.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { inTime } from '../support/in-time.ts';
import { type ScriptedProvider, stallAfter, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-workers-test';
const LIMITED_KEY = 'sk-workers-limited';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const WORKERS = 2;
/** Architecture, promise 6: how soon the call of a chat that nobody reads is aborted, in milliseconds. */
const LEAVE_MS = 1000;

/** `ben` may make a dozen requests a minute. */
function configOf(options: { folder: string; provider: string; port?: number }) {
  return {
    server: { port: options.port ?? 0, workers: WORKERS, shutdown_grace_seconds: 5 },
    store: { url: `file:${join(options.folder, 'data')}` },
    providers: { scripted: { base_url: options.provider } },
    models: {
      researcher: { kind: 'research', routes: [{ provider: 'scripted', model: 'm' }], research: { tools: [] } },
    },
    keys: [
      { id: 'ann', secret: KEY, admin: true },
      { id: 'ben', secret: LIMITED_KEY, limits: { requests_per_minute: 12 } },
    ],
  };
}

describe('a gateway in several processes over SQLite', function () {
  // Processes are killed and come back.
  this.timeout(patience(60));
  const stack = new AsyncDisposableStack();
  let provider: ScriptedProvider;
  let gateway: GatewayProcess;
  let folder: string;
  before(async () => {
    provider = stack.use(await startScriptedProvider());
    folder = stack.use(await gatewayFolder()).path;
    gateway = stack.use(await startGatewayProcess(configOf({ folder, provider: provider.url }), { folder }));
    await allWorkers(gateway, []);
  });
  after(() => stack.disposeAsync());

  it('counts limits and metrics over all processes', async () => {
    provider.respond = ({ body }) => turn(body.tools ? { reasoning: 'I know.' } : { text: 'Yes.' });
    const submit = () =>
      fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { ...HEADERS, authorization: `Bearer ${LIMITED_KEY}`, connection: 'close' },
        body: JSON.stringify({ model: 'researcher', input: 'Yes?', stream: false }),
      });
    const statuses = await Promise.all(Array.from({ length: 16 }, async () => (await submit()).status));
    assert.equal(statuses.filter((status) => status === 200).length, 12);
    assert.equal(statuses.filter((status) => status === 429).length, 4);
    // A run is counted a moment after its client has the answer, and a busy worker may report its metrics late.
    await eventually('all runs are counted together', async () => {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      return /^gateway_runs_ended_total\{model="researcher",status="completed"\} 12$/m.test(metrics) || undefined;
    });
  });

  it('records in the audit that each worker read the configuration again, and what changed', async () => {
    const name = (await readdir(folder)).find((entry) => entry.endsWith('.yaml')) ?? '';
    const config = configOf({ folder, provider: provider.url });
    const models = { ...config.models, another: config.models.researcher };
    await writeFile(
      join(folder, name),
      stringify({ ...config, server: { ...config.server, body_limit: '5mb' }, models }),
    );
    const records = await eventually('every worker has recorded it', async () => {
      const answer = await fetch(`${gateway.url}/admin/audit`, { headers: HEADERS });
      const { data } = (await answer.json()) as { data: { action: string; instance: string; detail?: string }[] };
      return new Set(data.map(({ instance }) => instance)).size === WORKERS ? data : undefined;
    });
    for (const { action, detail } of records) {
      assert.deepEqual([action, detail], ['config.reloaded', 'models.another; after a restart: server.body_limit']);
    }
  });

  it('aborts calls to the provider when chat clients disconnect, even while the store process is frozen', async () => {
    provider.respond = () => stallAfter(3, { text: 'an answer that never ends' });
    await inTime(LEAVE_MS, 'leaving them', async () => {
      const requestsBefore = provider.requests.length;
      const leaving = new AbortController();
      for (let n = 0; n < 4; n++) {
        const messages = [{ role: 'user', content: `Who stays, ${requestsBefore + n}?` }];
        const body = JSON.stringify({ model: 'researcher', messages, stream: n % 2 === 0 });
        const headers = { ...HEADERS, connection: 'close' };
        fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal })
          .then((response) => response.text())
          .catch(() => {});
        await provider.waitForRequest(requestsBefore + n + 1);
      }
      gateway.child.kill('SIGSTOP');
      try {
        const disconnectedAt = performance.now();
        leaving.abort();
        for (const { closed } of provider.requests.slice(requestsBefore))
          assert.deepEqual(await closed, { left: true });
        return performance.now() - disconnectedAt;
      } finally {
        gateway.child.kill('SIGCONT');
      }
    });
  });

  it('keeps serving while one worker cannot start, and replaces it afterwards', async () => {
    const first = await allWorkers(gateway, []);
    const [file] = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
    const path = join(folder, file ?? '');
    const text = await readFile(path, 'utf8');
    await writeFile(path, 'keys: nonsense');
    process.kill(first[0] ?? 0, 'SIGKILL');
    const failed = () => gateway.log.filter((line) => line.includes('"msg":"a worker died and is replaced"'));
    // The first line is the worker that was killed.
    await eventually('two replacements failed', () => (failed().length > 2 ? true : undefined));
    assert.match(failed().at(-1) ?? '', /"reason":".*keys/);
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    await writeFile(path, text);
    await allWorkers(gateway, first, 1);
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
  });

  it('closes the connection that a killed worker had been handed, but not taken', async () => {
    const before = await allWorkers(gateway, []);
    const stopped = before.at(-1) ?? 0;
    process.kill(stopped, 'SIGSTOP');
    let open = 0;
    const asked = Array.from({ length: 6 }, async () => {
      open += 1;
      const headers = { connection: 'close' };
      await fetch(`${gateway.url}/healthz`, { headers }).catch(() => undefined);
      open -= 1;
    });
    await eventually('only the one handed to the stopped worker waits', () => open === 1 || undefined);
    process.kill(stopped, 'SIGKILL');
    await Promise.all(asked);
    await allWorkers(gateway, before, 1);
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
  });

  it('keeps its port when the last worker dies while the replacement of another one starts', async () => {
    const before = await allWorkers(gateway, []);
    const children = async () => {
      const { pid } = gateway.child;
      return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
    };
    const deaths = () => gateway.log.filter((line) => line.includes('"msg":"a worker died and is replaced"')).length;
    const earlier = deaths();
    const [first = 0, ...others] = before;
    process.kill(first, 'SIGKILL');
    await eventually('its replacement starts', async () =>
      (await children()).some((pid) => !before.includes(pid)) ? true : undefined,
    );
    for (const pid of others) process.kill(pid, 'SIGKILL');
    await allWorkers(gateway, before);
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    // The first replacement asked for the port of a worker that is gone; the next one asks for the right one.
    assert.ok(deaths() - earlier <= before.length + 1, gateway.log.slice(-20).join('\n'));
  });

  it('continues a run whose worker was killed, every worker streams the same bytes, and all of them stop in order', async () => {
    provider.respond = () => stallAfter(3, { reasoning: 'a thought that never ends' });
    const first = await allWorkers(gateway, []);
    const reader = await SseReader.open(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ model: 'researcher', input: 'Why do runs survive?', stream: true }),
    });
    const [created] = await reader.until((events) => count(events, 'response.reasoning_text.delta') > 0);
    assert.equal(created?.type, 'response.created');
    const { id } = created.response;

    provider.respond = ({ body }) =>
      turn(body.tools ? { reasoning: 'I know enough.' } : { text: 'Their log is written first.' });
    for (const pid of first) process.kill(pid, 'SIGKILL');
    await reader.end();
    await allWorkers(gateway, first);
    const after = reader.events.at(-1)?.sequence_number ?? 0;
    const resumed = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true&after=${after}`, {
      headers: HEADERS,
    });
    const events = await resumed.end();
    assert.equal(events.at(-1)?.type, 'response.completed');

    // Connections are dealt out in turn, so enough readers reach every process.
    const whole = Buffer.concat([reader.bytes, resumed.bytes]);
    for (let n = 0; n < 2 * WORKERS; n++) {
      const replay = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, {
        headers: { ...HEADERS, connection: 'close' },
      });
      await replay.end();
      assert.deepEqual(replay.bytes, whole);
    }
    assert.equal(await gateway.terminate(), 0);
  });

  it('exits if the port is in use, and names it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    await using folder = await gatewayFolder();
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const config = configOf({ folder: folder.path, provider: 'http://127.0.0.1:9', port });
    await assert.rejects(startGatewayProcess(config, { folder: folder.path }), /ended with 1:.*is in use; set PORT/s);
    taken.close();
  });
});

/** The process ids of the living workers that listen and are not in `before`, once there are `wanted`. */
async function allWorkers(gateway: GatewayProcess, before: readonly number[], wanted = WORKERS): Promise<number[]> {
  return await eventually('all workers listen', () => {
    const pids = gateway.log.flatMap((line) => /"worker":(\d+),"msg":"a worker is listening"/.exec(line)?.[1] ?? []);
    const found = pids.map(Number).filter((pid) => !before.includes(pid) && isAlive(pid));
    return found.length >= wanted ? found : undefined;
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function count(events: readonly RunEvent[], type: RunEvent['type']): number {
  return events.filter((event) => event.type === type).length;
}
