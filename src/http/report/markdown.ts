import { escapeMarkdown, markdownLink } from '../../base/markdown.ts';
import { replaceCharts } from '../../protocol/chart/chart-blocks.ts';
import { chartTable } from '../../protocol/chart/chart-table.ts';
import type { Report, ReportSource } from '../../runs/projections/report.ts';

/**
 * The report as one Markdown document: title, text, numbered sources, date and model. The text is Markdown that was made
 * safe when it was written; everything else is escaped.
 */
export function reportMarkdown(report: Report): string {
  const { title, question, text, charts, sources, notes, model, endedAt } = report;
  const parts = [`# ${escapeMarkdown(title)}`];
  if (question !== '') parts.push(quote(question));
  for (const note of notes) parts.push(`**${escapeMarkdown(note)}**`);
  const withTables = charts ? replaceCharts(text, (chart, block) => `${chartTable(chart)}\n\n${block}`) : text;
  parts.push(withTables.trim());
  if (sources.length > 0) parts.push('## Sources', sources.map(sourceLine).join('\n'));
  parts.push('---', `_${dateOf(endedAt)} · ${escapeMarkdown(model)}_`);
  return `${parts.join('\n\n')}\n`;
}

/** `2026-11-21`. */
export function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${escapeMarkdown(line)}`.trimEnd())
    .join('\n');
}

/** Not an ordered list, so that no renderer changes the numbers. */
function sourceLine({ number, url, title, verified }: ReportSource): string {
  const mark = number === null ? '' : `[${number}] `;
  const unread = verified ? '' : ' (not read by the run)';
  return `- ${mark}${title === url ? '' : `${escapeMarkdown(title)}: `}${markdownLink(url)}${unread}`;
}
