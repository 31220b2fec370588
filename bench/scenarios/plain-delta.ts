import { liveLoad } from '../support/live-load.ts';
import type { BenchOptions } from '../support/options.ts';
import { startResponses } from '../support/peers.ts';
import { plainConfig, startGateway, startScript } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { RESPONSES_BY_BARE, shortRuns } from './short-run.ts';

const RATE = 20;
/** `SECONDS=3` in the environment for a first impression. */
const DELTAS = RATE * Number(process.env.SECONDS ?? 10);
const STREAMS = 200;
const PATH = '/v1/responses';
const KINDS = [
  { name: 'stored', fields: {}, cpu: 1.3 },
  { name: 'store: false', fields: { store: false }, cpu: 1 },
] as const;
type Kind = (typeof KINDS)[number]['name'] | 'peer';
/** responses.js beside the bare translator for a paced delta, in the measurements that the goals come from. */
const PACED_BY_BARE = 1.7;

/**
 * Responses that the gateway makes of a plain model: what a delta costs, and how soon the first one comes, beside
 * responses.js, which stores nothing; without it beside the bare translator.
 */
export async function plainDelta({ stores, rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const paced = stack.use(await startScript('targets/ticking-provider.ts', [String(RATE), String(DELTAS)]));
  const burst = stack.use(await startScript('targets/burst-provider.ts', ['20']));
  const peerOf = async (provider: typeof paced) =>
    stack.use(
      await (peers.responses
        ? startResponses(peers.responses, provider)
        : startScript('targets/bare-translator.ts', [provider.url])),
    );
  const peer = { name: peers.responses ? 'responses.js' : 'bare translator', path: peers.responses ? PATH : '' };
  const by = peers.responses ? { cpu: 1, time: 1 } : { cpu: PACED_BY_BARE, time: RESPONSES_BY_BARE.time };
  const load = { path: PATH, streams: STREAMS, deltas: DELTAS };
  const [pacedPeer, burstPeer] = [await peerOf(paced), await peerOf(burst)];
  const rows: Row[] = [];
  for (const kind of stores) {
    await using onPaced = await startGateway(plainConfig(paced), kind);
    await using onBurst = await startGateway(plainConfig(burst), kind);
    const deltas = await interleaved(
      [
        { name: 'peer', run: () => liveLoad(pacedPeer, { ...load, path: peer.path }) },
        ...KINDS.map(({ name, fields }) => ({ name, run: () => liveLoad(onPaced, { ...load, fields }) })),
      ],
      rounds,
    );
    const runs = await interleaved(
      [
        { name: 'peer', run: () => shortRuns(burstPeer, peer.path) },
        ...KINDS.map(({ name, fields }) => ({ name, run: () => shortRuns(onBurst, PATH, fields) })),
      ],
      rounds,
    );
    const cpuOf = (name: Kind) => (deltas.get(name) ?? []).map(({ cpuPerDelta }) => cpuPerDelta);
    const timeOf = (name: Kind) => (runs.get(name) ?? []).map(({ firstDelta }) => firstDelta);
    for (const { name, cpu } of KINDS) {
      const what = `plain model, ${name}, ${kind}`;
      rows.push(
        {
          what: `${what}, ${STREAMS} streams of ${RATE} deltas/s`,
          unit: 'CPU us/delta',
          ours: cpuOf(name),
          peer: { name: peer.name, rounds: cpuOf('peer') },
          goal: { atMost: cpu * by.cpu },
        },
        {
          what: `${what}, 20 deltas`,
          unit: 'ms to the first delta',
          ours: timeOf(name),
          peer: { name: peer.name, rounds: timeOf('peer') },
          goal: { atMost: 1.5 * by.time },
        },
      );
    }
  }
  return rows;
}
