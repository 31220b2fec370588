import type { ChartSpec } from './chart.ts';
import { parseChart } from './chart-spec.ts';

/**
 * The opening line of a chart block in a text. `ChartFilter` lets only charts have it, so that readers can find charts
 * without parsing Markdown.
 */
export const CHART_OPENING = '```vega-lite';
const CLOSING = '```';

export function replaceCharts(text: string, replacement: (chart: ChartSpec, block: string) => string): string {
  let result = '';
  let copied = 0;
  for (let at = text.indexOf(CHART_OPENING); at !== -1; at = text.indexOf(CHART_OPENING, copied)) {
    const close = text.indexOf(`\n${CLOSING}`, at);
    if (close === -1) break;
    const block = text.slice(at, close + 1 + CLOSING.length);
    const chart = at === 0 || text[at - 1] === '\n' ? parseChartBlock(block) : undefined;
    result += text.slice(copied, at) + (chart ? replacement(chart, block) : block);
    copied = at + block.length;
  }
  return result + text.slice(copied);
}

/** The chart in a code block, which includes its fences; undefined if it is not a chart. */
export function parseChartBlock(block: string): ChartSpec | undefined {
  const start = `${CHART_OPENING}\n`;
  const whole = block.trimEnd();
  if (!whole.startsWith(start) || !whole.endsWith(`\n${CLOSING}`)) return undefined;
  return parseChart(whole.slice(start.length, -CLOSING.length));
}
