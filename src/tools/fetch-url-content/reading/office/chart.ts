import type { DocumentWriter } from './document-writer.ts';
import { xmlEvents } from './xml-events.ts';

/** How many values of a series are read. */
const MAX_POINTS = 2000;
const MAX_SERIES = 100;

interface Series {
  name: string;
  /** Categories and values by their index. */
  labels: string[];
  values: string[];
}

type ChartPart = 'title' | 'name' | 'labels' | 'values';
const PARTS: ReadonlyMap<string, ChartPart> = new Map([
  ['c:title', 'title'],
  ['c:tx', 'name'],
  ['c:cat', 'labels'],
  ['c:xval', 'labels'],
  ['c:val', 'values'],
  ['c:yval', 'values'],
]);

/** Writes a chart's title, and its values as a table with a column for each series (ECMA-376, part 1, 21.2). */
export function writeChartValues(xml: string, writer: DocumentWriter): void {
  const series: Series[] = [];
  let title = '';
  let within: ChartPart | undefined;
  let point = 0;
  let inValue = false;
  let inLabels = false;
  for (const event of xmlEvents(xml)) {
    const current = series.at(-1);
    if (event.kind === 'text') {
      if (!inValue) continue;
      if (within === 'title' && series.length === 0) title += event.text;
      else if (within === 'name' && current) current.name += event.text;
      else if ((within === 'labels' || within === 'values') && current && point < MAX_POINTS) {
        current[within][point] = (current[within][point] ?? '') + event.text;
      }
      continue;
    }
    const isOpen = event.kind === 'open';
    if (event.name === 'c:ser' && event.kind === 'open') {
      if (series.length === MAX_SERIES) break;
      series.push({ name: '', labels: [], values: [] });
    } else if (event.name === 'c:pt' && event.kind === 'open') point = Number(event.attribute('idx')) || 0;
    else if (event.name === 'c:dlbls') inLabels = isOpen;
    else if (event.name === 'c:v' || event.name === 'a:t') inValue = isOpen && !inLabels;
    // A `c:tx` within the title is its text, not the name of a series.
    else if (PARTS.has(event.name) && !(event.name === 'c:tx' && within === 'title')) {
      within = isOpen ? PARTS.get(event.name) : undefined;
    }
  }
  if (title.trim() !== '') writer.paragraph(title);
  const labels = series.find(({ labels }) => labels.length > 0)?.labels ?? [];
  const count = Math.max(0, ...series.map(({ values }) => values.length));
  if (count === 0) return;
  const rows = Array.from({ length: count }, (_, at) => [
    labels[at] ?? '',
    ...series.map(({ values }) => values[at] ?? ''),
  ]);
  writer.table([['', ...series.map(({ name }) => name.trim())], ...rows]);
}
