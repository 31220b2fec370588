import type { ChartChannel, ChartSpec } from './chart.ts';

/** Rules for each mark that make a chart unambiguous. */

/** How many colours a reader can distinguish. */
const MAX_SERIES = 12;

/** Whether the channels and rows of a chart fit its mark. */
export function hasValidShape({ mark, encoding, data: { values } }: ChartSpec): boolean {
  const { x, y, theta, color } = encoding;
  if (color && (isScaled(color) || distinct(values, [color]) > MAX_SERIES)) return false;
  if (mark === 'arc') return isPie({ x, y, theta, color }, values);
  if (!x || !y || theta || x.field === y.field) return false;
  const measured = [x, y].filter(isMeasured).length;
  if (mark === 'point') return measured > 0;
  if (mark === 'bar') return measured === 1 && hasUniqueRows(values, [isMeasured(x) ? y : x, color]);
  return isMeasured(y) && hasUniqueRows(values, [x, color]);
}

function isPie({ x, y, theta, color }: ChartSpec['encoding'], values: ChartSpec['data']['values']): boolean {
  if (x || y || !theta || !color || !isMeasured(theta) || theta.field === color.field) return false;
  const parts = values.map((row) => Number(row[theta.field]));
  return parts.every((part) => part >= 0) && parts.some((part) => part > 0) && hasUniqueRows(values, [color]);
}

/** Whether no two rows have the same place, where one would hide the other. */
function hasUniqueRows(values: ChartSpec['data']['values'], by: readonly (ChartChannel | undefined)[]): boolean {
  return distinct(values, by) === values.length;
}

function distinct(values: ChartSpec['data']['values'], by: readonly (ChartChannel | undefined)[]): number {
  return new Set(values.map((row) => JSON.stringify(by.map((channel) => channel && row[channel.field])))).size;
}

function isMeasured({ type }: ChartChannel): boolean {
  return type === 'quantitative';
}

function isScaled({ type }: ChartChannel): boolean {
  return type === 'quantitative' || type === 'temporal';
}
