import type { Report, ReportSource } from '../../runs/projections/report.ts';

/** The report as one Markdown document: title, text, numbered sources, and where it comes from. */
export function reportMarkdown(report: Report): string {
  const { title, question, text, sources, notes, model, endedAt } = report;
  const parts = [`# ${title}`];
  if (question !== '') parts.push(quote(question));
  for (const note of notes) parts.push(`**${note}**`);
  parts.push(text.trim());
  if (sources.length > 0) parts.push('## Sources', sources.map(sourceLine).join('\n'));
  parts.push('---', `_${dateOf(endedAt)} · ${model}_`);
  return `${parts.join('\n\n')}\n`;
}

/** `2026-11-21`. */
export function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}

/** The numbers stay those of the text whatever a renderer makes of lists. */
function sourceLine({ number, url, title, verified }: ReportSource): string {
  const mark = number === null ? '' : `[${number}] `;
  const unread = verified ? '' : ' (not read by the run)';
  const name = title.replace(/([[\]\\])/g, '\\$1');
  const address = url.replace(/[\s<>]/g, (letter) => encodeURIComponent(letter));
  return `- ${mark}${title === url ? '' : `${name}: `}<${address}>${unread}`;
}
