import { CHART_OPENING } from '../../protocol/chart/chart-blocks.ts';
import { formatChart, MAX_CHART_LENGTH, parseChart } from '../../protocol/chart/chart-spec.ts';
import { chartTable, tableOfBlock } from '../../protocol/chart/chart-table.ts';
import type { ChartEvidence } from './chart-evidence.ts';

/** A marker as clients see it. */
const MARKER = /\[\d+(?:, \d+)*\]/;

/**
 * The text for a chart block. It is the chart if the block is valid and its numbers were computed, or if they were found
 * and the paragraph before cites a source. Otherwise it is the data as a table, or the block as code if it has no data.
 */
export function writeChart(block: string, { evidence, before }: { evidence: ChartEvidence; before: string }): string {
  const gap = before === '' || before.endsWith('\n\n') ? '' : '\n';
  const chart = parseChart(block);
  if (chart) {
    const origin = evidence.originOf(chart);
    const written = `${CHART_OPENING}\n${formatChart(chart)}\n\`\`\`\n`;
    const isCited = origin === 'python' || (origin === 'records' && MARKER.test(lastParagraph(before)));
    if (isCited && written.length <= MAX_CHART_LENGTH) return gap + written;
  }
  const table = chart ? chartTable(chart) : tableOfBlock(block);
  return table === undefined ? gap + asCode(block) : `${gap}${table}\n\n`;
}

export function behindCharts(text: string): string {
  const at = text.lastIndexOf(`${CHART_OPENING}\n`);
  const end = at === -1 ? -1 : text.indexOf(CLOSED, at);
  return end === -1 ? text : text.slice(end + CLOSED.length);
}
const CLOSED = '\n```\n';

function lastParagraph(text: string): string {
  return (
    text
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  );
}

function asCode(block: string): string {
  const longest = Math.max(2, ...(block.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${block.replaceAll(CHART_OPENING, '```json')}${block.endsWith('\n') || block === '' ? '' : '\n'}${fence}\n`;
}
