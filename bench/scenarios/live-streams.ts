import { type LiveResult, liveLoad } from '../support/live-load.ts';
import { median, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { startResponses } from '../support/peers.ts';
import { researchConfig, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';

/** Research runs whose providers speak at a steady rate, each followed live: what users have. */

const RATE = 20;
/** `SECONDS=3` in the environment for a first impression. */
const SECONDS = Number(process.env.SECONDS ?? 10);
const DELTAS = RATE * SECONDS;
const BARE = 'bare translator, nothing stored';
const RESPONSES = 'responses.js, nothing stored';

/** 200 streams: what a delta costs, and what the gateway adds to its way. */
export async function steadyDelta({ stores, rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/ticking-provider.ts', [String(RATE), String(DELTAS)]));
  const bare = stack.use(await startScript('targets/bare-translator.ts', [provider.url]));
  const responses = peers.responses ? stack.use(await startResponses(peers.responses, provider)) : undefined;
  const gateways = await Promise.all(
    stores.map(async (kind) => ({ kind, target: stack.use(await startGateway(researchConfig(provider), kind)) })),
  );
  const streams = 200;
  const direct = await liveLoad(provider, { path: '/chat/completions', streams, deltas: DELTAS });
  const results = await interleaved(
    [
      { name: BARE, run: () => liveLoad(bare, { path: '', streams, deltas: DELTAS }) },
      ...(responses
        ? [{ name: RESPONSES, run: () => liveLoad(responses, { path: '/v1/responses', streams, deltas: DELTAS }) }]
        : []),
      ...gateways.map(({ kind, target }) => ({
        name: kind,
        run: () => liveLoad(target, { path: '/v1/responses', streams, deltas: DELTAS }),
      })),
    ],
    rounds,
  );
  const theirs = results.get(BARE) ?? [];
  const other = results.get(RESPONSES);
  return stores.flatMap((kind): Row[] => {
    const ours = results.get(kind) ?? [];
    const cpu = ours.map(({ cpuPerDelta }) => cpuPerDelta);
    const what = `research, 200 streams of ${RATE} deltas/s, ${kind}`;
    const added = (share: number) => ours.map(({ delays }) => quantile(delays, share) - quantile(direct.delays, share));
    return [
      {
        what,
        unit: 'CPU us/delta',
        ours: cpu,
        peer: { name: BARE, rounds: theirs.map(({ cpuPerDelta }) => cpuPerDelta) },
      },
      ...(other
        ? [
            {
              what,
              unit: 'CPU us/delta',
              ours: cpu,
              peer: { name: RESPONSES, rounds: other.map(({ cpuPerDelta }) => cpuPerDelta) },
              goal: { atMost: 1.1 },
            },
          ]
        : []),
      { what, unit: 'added p50 ms', ours: added(0.5) },
      { what, unit: 'added p99 ms', ours: added(0.99) },
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
      const goal = (atMost: number) => (workers === 1 ? { goal: { atMost } } : {});
      rows.push({ what, unit: 'lag p50 ms', ours: [median(delays)], ...goal(25) });
      rows.push({ what, unit: 'lag p99 ms', ours: [quantile(delays, 0.99)], ...goal(250) });
      if (held !== undefined) {
        const peer = { name: BARE, rounds: [held] };
        rows.push({ what, unit: 'KiB/stream', ours: [kbPerStream], peer });
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
