import { figure, median, table } from './measure.ts';

/** What one side reached in several rounds. */
export type Rounds = readonly number[];

/** One line of the table: what was measured, ours beside a peer in the same rounds, and the goal. */
export interface Row {
  what: string;
  unit: string;
  ours: Rounds;
  /** Beside whom; absent where the goal is a figure of its own. */
  peer?: { name: string; rounds: Rounds };
  /** The bound of the ratio ours / peer, or of ours without a peer; absent for figures that are only shown. */
  goal?: { atLeast: number } | { atMost: number };
}

/** The rows as one Markdown table: medians with their spread, ratios, goals, and whether each is reached. */
export function scoreboard(rows: readonly Row[]): string {
  const head = ['what', 'ours', 'peer', 'ratio', 'goal', 'reached'];
  return table(
    head,
    rows.map((row) => {
      const value = reached(row);
      return [
        `${row.what}, ${row.unit}`,
        spread(row.ours),
        row.peer ? `${row.peer.name}: ${spread(row.peer.rounds)}` : '-',
        row.peer ? value.toFixed(2) : '-',
        goalText(row),
        row.goal ? (isReached(row) ? 'yes' : '**no**') : '-',
      ];
    }),
  );
}

export function isReached(row: Row): boolean {
  const value = reached(row);
  if (!row.goal) return true;
  return 'atLeast' in row.goal ? value >= row.goal.atLeast : value <= row.goal.atMost;
}

/** The ratio of the medians, or our median where there is no peer. */
function reached({ ours, peer }: Row): number {
  return peer ? median(ours) / median(peer.rounds) : median(ours);
}

function goalText({ goal, peer }: Row): string {
  if (!goal) return '-';
  const bound = 'atLeast' in goal ? `>= ${goal.atLeast}` : `<= ${goal.atMost}`;
  return peer ? `${bound} x` : bound;
}

function spread(rounds: Rounds): string {
  const range = rounds.length > 1 ? ` (${figure(Math.min(...rounds))}–${figure(Math.max(...rounds))})` : '';
  return `${figure(median(rounds))}${range}`;
}

/** Runs every target in turn, round after round, so that a change of the machine's speed meets all of them. */
export async function interleaved<Name extends string, Result>(
  targets: readonly { name: Name; run(): Promise<Result> }[],
  rounds: number,
): Promise<Map<Name, Result[]>> {
  const results = new Map<Name, Result[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of targets) results.get(name)?.push(await run());
  }
  return results;
}
