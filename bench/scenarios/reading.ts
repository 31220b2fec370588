import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { cpuMicros, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { startNginx } from '../support/peers.ts';
import { KEY, researchConfig, type StoreKind, startGateway, startScript, type Target } from '../support/processes.ts';
import { rawLoad } from '../support/raw-load.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { agent, inParallel, readStream } from '../support/stream-client.ts';
import { startTimedClient } from '../support/timed-client.ts';

/** Reading runs again: replays of ended ones, snapshots of ended and running ones. */

const EVENTS = 10_000;
/** Deltas of the run that is resumed near its end; `EVENTS=100000` in the environment for the largest figure. */
const LONG = Number(process.env.EVENTS ?? 20_000);
export const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

export async function replay({ stores, rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/paced-provider.ts', [String(EVENTS)]));
  const rows: Row[] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    const url = `${gateway.url}/v1/responses/${await endedRun(gateway)}?stream=true`;
    const bytes = Buffer.from(await (await fetch(url, { headers: HEADERS })).arrayBuffer());
    await using peer = await servedBytes(bytes, peers.nginx);
    for (const readers of [8, 64]) {
      const read = async (from: string, pid: number | undefined) => {
        const cpu = pid === undefined ? 0 : cpuMicros(pid);
        const began = performance.now();
        await inParallel(readers * 5, readers, async () => {
          const got = await readStream(from, { headers: HEADERS });
          if (got.bytes < bytes.length) throw new Error('a replay is short');
        });
        const seconds = (performance.now() - began) / 1000;
        return { rate: (readers * 5 * EVENTS) / seconds, cpu: pid === undefined ? 0 : cpuMicros(pid) - cpu };
      };
      const results = await interleaved(
        [
          { name: 'peer', run: () => read(peer.url, peer.pid) },
          { name: 'ours', run: () => read(url, gateway.pid) },
        ],
        rounds,
      );
      const ours = results.get('ours') ?? [];
      const theirs = results.get('peer') ?? [];
      const what = `replay of ${EVENTS} events, ${readers} readers, ${kind}`;
      const of = (pick: (round: { rate: number; cpu: number }) => number) => ({
        ours: ours.map(pick),
        peer: { name: peer.name, rounds: theirs.map(pick) },
      });
      rows.push({ what, unit: 'events/s', ...of(({ rate }) => rate), goal: { atLeast: 0.9 } });
      if (peer.pid !== undefined) rows.push({ what, unit: 'CPU us', ...of(({ cpu }) => cpu) });
    }
  }
  return rows;
}

/** Snapshots of a run that has ended, and of one that still speaks, with the effect on `/healthz`. */
export async function snapshots({ stores, rounds }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of stores) {
    await using provider = await startScript('targets/paced-provider.ts', ['6000', 'hold']);
    await using gateway = await startGateway(researchConfig(provider), kind);
    const id = await startedRun(gateway);
    const url = `${gateway.url}/v1/responses/${id}`;
    // All of its text is there, but the run has not ended: the provider holds the last chunk back.
    await untilLength(url, 50_000);
    const bytes = Buffer.from(await (await fetch(url, { headers: HEADERS })).arrayBuffer());
    rows.push(...(await pollRows({ what: `running run, ${kind}`, gateway, url, bytes, rounds })));
    rows.push(...(await finishedSnapshot({ kind, rounds })));
    rows.push({
      what: `/healthz beside 10 pollers of a running run, ${kind}`,
      unit: 'p99 ms',
      ours: [await healthBeside(gateway, url)],
      goal: { atMost: 10 },
    });
  }
  return rows;
}

/** The snapshot of an ended run. */
async function finishedSnapshot({ kind, rounds }: { kind: StoreKind; rounds: number }): Promise<Row[]> {
  await using provider = await startScript('targets/burst-provider.ts', ['2000']);
  await using gateway = await startGateway(researchConfig(provider), kind);
  const url = `${gateway.url}/v1/responses/${await endedRun(gateway)}`;
  const bytes = Buffer.from(await (await fetch(url, { headers: HEADERS })).arrayBuffer());
  return await pollRows({ what: `ended run, ${kind}`, gateway, url, bytes, rounds });
}

/** Snapshots beside bare Express that answers with the same bytes. */
async function pollRows(options: {
  what: string;
  gateway: Target;
  url: string;
  bytes: Buffer;
  rounds: number;
}): Promise<Row[]> {
  const { what, gateway, url, bytes, rounds } = options;
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'bench-snapshot-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'bytes');
  await writeFile(file, bytes);
  await using bare = await startScript('targets/fixed-answer.ts', [file]);
  const path = new URL(url).pathname;
  // Whoever polls has done so for a while: the compiler is through with both.
  for (let n = 0; n < 2; n++) await Promise.all([poll(bare, '/'), poll(gateway, path)]);
  const results = await interleaved(
    [
      { name: 'bare', run: () => poll(bare, '/') },
      { name: 'ours', run: () => poll(gateway, path) },
    ],
    rounds,
  );
  const ours = results.get('ours') ?? [];
  const theirs = results.get('bare') ?? [];
  const snapshot = `snapshot of ${Math.round(bytes.length / 1000)} kB, ${what}`;
  const of = (pick: (round: Polled) => number) => ({
    ours: ours.map(pick),
    peer: { name: 'bare Express, the same bytes', rounds: theirs.map(pick) },
  });
  return [
    { what: snapshot, unit: 'requests/s', ...of(({ rate }) => rate), goal: { atLeast: 0.4 } },
    { what: snapshot, unit: 'CPU us/request', ...of(({ cpu }) => cpu) },
  ];
}

/** A reader who comes back near the end of a long run. */
export async function resume({ stores, rounds }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of stores) {
    await using provider = await startScript('targets/paced-provider.ts', [String(LONG)]);
    await using gateway = await startGateway(researchConfig(provider), kind);
    const url = `${gateway.url}/v1/responses/${await endedRun(gateway)}?stream=true`;
    const { events } = await readStream(url, { headers: HEADERS });
    const waits: number[] = [];
    for (let n = 0; n < 10 * rounds; n++) {
      const began = performance.now();
      await readStream(`${url}&after=${events - 10}`, { headers: HEADERS });
      waits.push(performance.now() - began);
    }
    rows.push({
      what: `resume 10 before the end of ${events} events, ${kind}`,
      unit: 'ms',
      ours: waits,
      goal: { atMost: 20 },
    });
  }
  return rows;
}

const POLLS = 10_000;

interface Polled {
  /** Requests a second. */
  rate: number;
  /** Microseconds of a request. */
  cpu: number;
}

async function poll(target: Target, path: string): Promise<Polled> {
  const cpu = cpuMicros(target.pid);
  const { seconds } = await rawLoad({
    url: target.url,
    path,
    headers: HEADERS,
    connections: 10,
    total: POLLS,
    frames: 0,
    mark: '"object":"response"',
  });
  return { rate: POLLS / seconds, cpu: (cpuMicros(target.pid) - cpu) / POLLS };
}

/** How late ten pollers make `/healthz`, as a client sees it that has nothing else to do. */
async function healthBeside(gateway: Target, url: string): Promise<number> {
  await using client = await startTimedClient();
  const request = { url: `${gateway.url}/healthz`, headers: {} };
  await client.inTurn([request], 100);
  const watched = client.watch(request, { everyMs: 5 });
  for (let n = 0; n < 4; n++) await poll(gateway, new URL(url).pathname);
  return quantile(await watched.stop(), 0.99);
}

async function startedRun(gateway: Target): Promise<string> {
  const body = JSON.stringify({ model: 'bench', input: 'Go.', background: true, tool_choice: 'none' });
  const created = await request(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: HEADERS,
    body,
    dispatcher: agent,
  });
  const { id } = (await created.body.json()) as { id: string };
  return id;
}

export async function endedRun(gateway: Target): Promise<string> {
  const id = await startedRun(gateway);
  await readStream(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
  return id;
}

async function untilLength(url: string, length: number): Promise<void> {
  const limit = performance.now() + 60_000;
  for (;;) {
    const { bytes } = await readStream(url, { headers: HEADERS });
    if (bytes > length) return;
    if (performance.now() > limit) throw new Error('the run does not grow');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The same bytes from nginx, or from a bare server in this process where there is none. */
async function servedBytes(
  bytes: Buffer,
  nginx: string | undefined,
): Promise<AsyncDisposable & { name: string; url: string; pid?: number }> {
  if (nginx !== undefined) {
    const files = await mkdtemp(join(tmpdir(), 'bench-replay-'));
    await writeFile(join(files, 'log'), bytes);
    // nginx's workers are another user where it is started by root.
    await chmod(files, 0o755);
    const target = await startNginx(nginx, { files });
    return { ...target, name: 'nginx, a file', url: `${target.url}/log` };
  }
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    name: 'bare node:http, the bytes in memory',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
