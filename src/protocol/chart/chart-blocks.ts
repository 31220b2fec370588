import type { ChartSpec } from './chart.ts';
import { chartIn } from './chart-spec.ts';

/**
 * Where the charts of a text stand. Whoever writes the text lets this line stand above charts alone (`ChartFilter`), so
 * that whoever shows it finds them without Markdown.
 */
export const CHART_OPENING = '```vega-lite';
const CLOSING = '```';

/** The text with each of its charts replaced. */
export function replaceCharts(text: string, written: (chart: ChartSpec, block: string) => string): string {
  let result = '';
  let taken = 0;
  for (let at = text.indexOf(CHART_OPENING); at !== -1; at = text.indexOf(CHART_OPENING, taken)) {
    const close = text.indexOf(`\n${CLOSING}`, at);
    if (close === -1) break;
    const block = text.slice(at, close + 1 + CLOSING.length);
    const chart = at === 0 || text[at - 1] === '\n' ? chartOfBlock(block) : undefined;
    result += text.slice(taken, at) + (chart ? written(chart, block) : block);
    taken = at + block.length;
  }
  return result + text.slice(taken);
}

/** The chart that a block of code is, given with its fences. */
export function chartOfBlock(block: string): ChartSpec | undefined {
  const start = `${CHART_OPENING}\n`;
  const whole = block.trimEnd();
  if (!whole.startsWith(start) || !whole.endsWith(`\n${CLOSING}`)) return undefined;
  return chartIn(whole.slice(start.length, -CLOSING.length));
}
