import type { Evaluation } from './evaluate.ts';
import { type Score, type Summary, summarise } from './scores.ts';

const ROWS: readonly { name: string; cell(of: Summary): string }[] = [
  { name: 'questions', cell: (of) => String(of.questions) },
  { name: 'completed', cell: (of) => percent(of.completed) },
  { name: 'correct answers', cell: (of) => percent(of.correct) },
  { name: 'retrieval: recall at 5', cell: (of) => percent(of.recallAt5) },
  { name: 'citation precision', cell: (of) => percent(of.citationPrecision) },
  { name: 'citation recall', cell: (of) => percent(of.citationRecall) },
  { name: 'citations not verified', cell: (of) => String(of.unverified) },
  { name: 'turns', cell: (of) => of.turns.toFixed(1) },
  { name: 'tool calls', cell: (of) => of.toolCalls.toFixed(1) },
  { name: 'tokens', cell: (of) => String(Math.round(of.tokens)) },
];

/** The table of an evaluation in Markdown: a column for each number of hops, and all. */
export function report({ scores }: Evaluation): string {
  const hops = [...new Set(scores.map((each) => each.hops))].sort();
  const columns = [
    ...hops.map((count) => ({ name: `${count} hop${count === 1 ? '' : 's'}`, of: summarise(withHops(scores, count)) })),
    { name: 'all', of: summarise(scores) },
  ];
  const table = [
    ['', ...columns.map(({ name }) => name)],
    ...ROWS.map(({ name, cell }) => [name, ...columns.map(({ of }) => cell(of))]),
  ];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => pad(text, widths[column] ?? 0, column)).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  const [head = [], ...rows] = table;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function withHops(scores: readonly Score[], hops: number): Score[] {
  return scores.filter((each) => each.hops === hops);
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
