import { type LiveResult, liveLoad } from '../support/live-load.ts';
import { cpuMicros, median, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, researchConfig, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { readStream } from '../support/stream-client.ts';

/** Research runs whose providers speak at a steady rate, each followed live: what users have. */

const RATE = 20;
/** `SECONDS=3` in the environment for a first impression. */
const SECONDS = Number(process.env.SECONDS ?? 10);
const DELTAS = RATE * SECONDS;
const BARE = 'bare translator, nothing stored';

/** 200 streams: what a delta costs, and what the gateway adds to its way. */
export async function steadyDelta({ stores, rounds }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/ticking-provider.ts', [String(RATE), String(DELTAS)]));
  const bare = stack.use(await startScript('targets/bare-translator.ts', [provider.url]));
  const gateways = await Promise.all(
    stores.map(async (kind) => ({ kind, target: stack.use(await startGateway(researchConfig(provider), kind)) })),
  );
  const streams = 200;
  const direct = await liveLoad(provider, { path: '/chat/completions', streams, deltas: DELTAS });
  const results = await interleaved(
    [
      { name: BARE, run: () => liveLoad(bare, { path: '', streams, deltas: DELTAS }) },
      ...gateways.map(({ kind, target }) => ({
        name: kind,
        run: () => liveLoad(target, { path: '/v1/responses', streams, deltas: DELTAS }),
      })),
    ],
    rounds,
  );
  const theirs = results.get(BARE) ?? [];
  return stores.flatMap((kind): Row[] => {
    const ours = results.get(kind) ?? [];
    const what = `research, 200 streams of ${RATE} deltas/s, ${kind}`;
    const added = (share: number) => ours.map(({ delays }) => quantile(delays, share) - quantile(direct.delays, share));
    return [
      {
        what,
        unit: 'CPU us/delta',
        ours: ours.map(({ cpuPerDelta }) => cpuPerDelta),
        peer: { name: BARE, rounds: theirs.map(({ cpuPerDelta }) => cpuPerDelta) },
        goal: { atMost: kind === 'SQLite' ? 1.4 : 1.6 },
      },
      { what, unit: 'added p50 ms', ours: added(0.5), goal: { atMost: 1 } },
      { what, unit: 'added p99 ms', ours: added(0.99), goal: { atMost: 10 } },
    ];
  });
}

/** 1 000 streams on one process, 2 000 on two workers: every delta arrives, and how late. */
export async function manyStreams({ stores }: BenchOptions): Promise<Row[]> {
  await using provider = await startScript('targets/ticking-provider.ts', [String(RATE), String(DELTAS)]);
  const rows: Row[] = [];
  for (const kind of stores) {
    for (const { streams, workers } of [
      { streams: 1000, workers: 1 },
      { streams: 2000, workers: 2 },
    ]) {
      await using gateway = await startGateway({ ...researchConfig(provider), server: { workers } }, kind);
      const { delays, kbPerStream } = await liveLoad(gateway, { path: '/v1/responses', streams, deltas: DELTAS });
      const held = workers === 1 ? await memoryOfBare(provider, streams) : undefined;
      const what = `research, ${streams} streams of ${RATE} deltas/s, ${workers} process${workers > 1 ? 'es' : ''}, ${kind}`;
      rows.push({ what, unit: 'lag p50 ms', ours: [median(delays)], goal: { atMost: 25 } });
      rows.push({ what, unit: 'lag p99 ms', ours: [quantile(delays, 0.99)], goal: { atMost: 100 } });
      if (held !== undefined) {
        const peer = { name: BARE, rounds: [held] };
        rows.push({ what, unit: 'KiB/stream', ours: [kbPerStream], peer, goal: { atMost: 2 } });
      }
    }
  }
  return rows;
}

/** By how much a translator grows that stores nothing, in KiB a stream. */
async function memoryOfBare(provider: Target, streams: number): Promise<number> {
  await using bare = await startScript('targets/bare-translator.ts', [provider.url]);
  return (await liveLoad(bare, { path: '', streams, deltas: DELTAS })).kbPerStream;
}

/** Twice what fits: what is admitted loses nothing and keeps its pace, and throughput does not fall. */
export async function overload({ stores }: BenchOptions): Promise<Row[]> {
  await using provider = await startScript('targets/ticking-provider.ts', [String(RATE), String(DELTAS)]);
  const rows: Row[] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    const load = (streams: number) =>
      liveLoad(gateway, { path: '/v1/responses', streams, deltas: DELTAS, mayRefuse: true });
    const fitting = await load(1000);
    const twice = await load(2000);
    const what = `research, 2 000 streams at once on one process, ${kind}`;
    rows.push({
      what,
      unit: 'lag p99 ms of the admitted',
      ours: [quantile(twice.delays, 0.99)],
      goal: { atMost: 250 },
    });
    rows.push({
      what,
      unit: 'deltas/s',
      ours: [rateOf(twice)],
      peer: { name: 'itself at 1 000 streams', rounds: [rateOf(fitting)] },
      goal: { atLeast: 0.9 },
    });
  }
  return rows;
}

function rateOf({ delays, seconds }: LiveResult): number {
  return delays.length / seconds;
}

/** A run of 20 deltas: what it costs in all, and how soon its first event comes. */
export async function shortRun({ stores, rounds }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/burst-provider.ts', ['20']));
  const bare = stack.use(await startScript('targets/bare-translator.ts', [provider.url]));
  const rows: Row[] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    const results = await interleaved(
      [
        { name: 'bare', run: () => runs(bare, '') },
        { name: 'ours', run: () => runs(gateway, '/v1/responses') },
      ],
      rounds,
    );
    const ours = results.get('ours') ?? [];
    const theirs = results.get('bare') ?? [];
    const what = `research, a run of 20 deltas, ${kind}`;
    const peer = (figures: number[]) => ({ name: BARE, rounds: figures });
    rows.push(
      // Another translator, responses.js, needs 4.2 times what the bare one does, and 3 times its time.
      {
        what,
        unit: 'CPU us/run',
        ours: ours.map(({ cpu }) => cpu),
        peer: peer(theirs.map(({ cpu }) => cpu)),
        goal: { atMost: 4.2 },
      },
      {
        what,
        unit: 'ms to the first event',
        ours: ours.map(({ firstByte }) => firstByte),
        peer: peer(theirs.map(({ firstByte }) => firstByte)),
        goal: { atMost: 4.5 },
      },
    );
  }
  return rows;
}

async function runs(target: Target, path: string): Promise<{ cpu: number; firstByte: number }> {
  const count = 300;
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'bench', input: 'Go.', stream: true, tool_choice: 'none' });
  const cpu = cpuMicros(target.pid);
  const first: number[] = [];
  for (let n = 0; n < count; n++) {
    first.push((await readStream(target.url + path, { method: 'POST', headers, body })).firstByteMs);
  }
  return { cpu: (cpuMicros(target.pid) - cpu) / count, firstByte: median(first) };
}
