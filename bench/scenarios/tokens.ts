import { handbook } from '../../test/support/handbook.ts';
import { longRun } from '../../test/support/long-run.ts';
import { accountOf, type PrefixAccount } from '../../test/support/prefix-account.ts';
import type { Row } from '../support/scoreboard.ts';

/** What long runs send to a provider that keeps the prefix of the request before: counts, the same every time. */

const RUNS = [
  { turns: 60, context: 128_000, shared: 92, anew: 138_000 },
  { turns: 300, context: 32_000, shared: 75, billed: 1_470_000 },
] as const;

export async function tokens(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const run of RUNS) {
    const { turns, context } = run;
    const book = handbook({ chapters: turns, length: 5000 });
    const { narrow, told } = await longRun({ book, turns, context });
    const account = accountOf(narrow.seen.map(({ messages }) => messages));
    rows.push(...rowsOf(run, account, told.size));
  }
  return rows;
}

function rowsOf(run: (typeof RUNS)[number], account: PrefixAccount, facts: number): Row[] {
  const what = `tokens, ${run.turns} turns in ${run.context}`;
  const row = (unit: string, value: number, goal: Row['goal']): Row => ({ what, unit, ours: [value], goal });
  return [
    row('% known prefix', account.shared * 100, { atLeast: run.shared }),
    ...('anew' in run ? [row('read anew', account.anew, { atMost: run.anew })] : []),
    ...('billed' in run ? [row('billed, cached at a tenth', account.billed, { atMost: run.billed })] : []),
    row('% of the window in the largest request', (100 * account.largest) / run.context, {
      atMost: run.context > 100_000 ? 50 : 100,
    }),
    row('facts at the answer', facts, { atLeast: run.turns }),
  ];
}
