import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { childrenOf, cpuMicros, cpuOfChildren, pssMb } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { agent } from '../support/stream-client.ts';

const MANY = 20;

interface Figures {
  /** Seconds from the first request to the last answer. */
  wall: number;
  /** CPU of a run, in seconds: of the gateway's process, and of its children. */
  own: number;
  children: number;
  /** The most that the gateway and its children took together, what they share counted once, in MiB. */
  memory: number;
}

/**
 * What research costs: runs of 40 turns that search 10 times and read 30 pages of 193 KB, pages that are made or, with
 * `PAGES=<folder>` in the environment, its `.html` files.
 */
export async function mainJob({ stores, rounds }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  await using provider = await startScript(
    'targets/researching-provider.ts',
    process.env.PAGES ? [process.env.PAGES] : [],
  );
  for (const kind of stores) {
    await using gateway = await startGateway(configOf(provider), kind);
    const results = await interleaved(
      [
        { name: 'one', run: () => research(gateway, 1) },
        { name: 'many', run: () => research(gateway, MANY) },
      ],
      rounds,
    );
    const goals = {
      one: { wall: 10, own: 1.2, children: 2.5, memory: 450 },
      many: { wall: 28, own: 0.6, children: 2, memory: 450 },
    };
    for (const name of ['one', 'many'] as const) {
      const what = `${name === 'one' ? 'one research run' : `${MANY} at once`} of 40 turns, ${kind}`;
      const row = (unit: string, figure: keyof Figures): Row => ({
        what,
        unit,
        ours: (results.get(name) ?? []).map((round) => round[figure]),
        goal: { atMost: goals[name][figure] },
      });
      rows.push(
        row('s', 'wall'),
        row('CPU s/run', 'own'),
        row('CPU s/run of children', 'children'),
        row('MiB (PSS)', 'memory'),
      );
    }
  }
  return rows;
}

function configOf(provider: Target): object {
  const folder = fileURLToPath(new URL('../../docs', import.meta.url));
  return {
    providers: { bench: { base_url: provider.url } },
    models: {
      bench: {
        kind: 'research',
        context_length: 200_000,
        routes: [{ provider: 'bench', model: 'bench' }],
        research: {
          tools: ['web_search', 'fetch_url_content'],
          budgets: { medium: { turns: 60, tool_calls: 100, tokens: 100_000_000, minutes: 30 } },
        },
      },
    },
    tools: { web_search: { provider: 'local', folder }, fetch_url_content: { allow_private_addresses: true } },
  };
}

let asked = 0;

async function research({ url, pid }: Target, runs: number): Promise<Figures> {
  const before = { own: cpuMicros(pid), children: cpuOfChildren(pid) };
  let memory = 0;
  const watch = setInterval(() => {
    memory = Math.max(memory, pssMb(pid) + childrenOf(pid).reduce((sum, child) => sum + pssOf(child), 0));
  }, 100);
  const began = performance.now();
  await Promise.all(Array.from({ length: runs }, () => oneRun(url)));
  const wall = (performance.now() - began) / 1000;
  clearInterval(watch);
  const share = 1 / runs / 1_000_000;
  return {
    wall,
    own: (cpuMicros(pid) - before.own) * share,
    children: (cpuOfChildren(pid) - before.children) * share,
    memory,
  };
}

async function oneRun(url: string): Promise<void> {
  asked += 1;
  const { statusCode, body } = await request(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'bench',
      input: `Question ${asked}. When was the harbour dredged?`,
      stream: true,
      reasoning: { effort: 'medium' },
    }),
    dispatcher: agent,
  });
  const text = await body.text();
  if (statusCode !== 200 || !text.includes('response.completed')) throw new Error(`${statusCode}: ${text.slice(-500)}`);
}

function pssOf(pid: number): number {
  try {
    return pssMb(pid);
  } catch {
    return 0;
  }
}
