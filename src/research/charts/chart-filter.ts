import { CHART_OPENING } from '../../protocol/chart/chart-blocks.ts';

/** A piece of an answer: text, or the contents of a block that should become a chart. */
export type ChartPart = { type: 'text'; text: string } | { type: 'chart'; block: string };

/** A longer block is not a chart, in UTF-16 code units. */
const LONGEST_BLOCK = 40_000;
/** A longer line opens and closes no block. */
const LONGEST_LINE = 200;
/** The start of a line that may open a block: the line has to be complete to decide. */
const MAY_OPEN = /^ {0,3}(?:`{0,2}$|~{0,2}$|`{3}|~{3})/;
const OPENS = /^ {0,3}(?<fence>`{3,}(?!`)|~{3,}(?!~))(?<info>[^\n]*)$/;
const CLOSES = /^ {0,3}(`{3,}|~{3,})\s*$/;

/**
 * Extracts `vega-lite` blocks from a Markdown text while it streams, holding each back until it is complete. Other text
 * never contains the line that opens a chart (it becomes `json`), so that clients cannot take an unchecked block for a
 * chart. The result does not depend on how the text was cut into deltas.
 */
export class ChartFilter {
  #held = '';
  #atLineStart = true;
  /** The fence of an open block of other code. */
  #code: string | undefined;
  #chart: HeldBlock | undefined;

  /** @param before the text that is sent already. */
  constructor(before = '') {
    for (const line of before.split('\n')) this.#passLine(line);
    this.#atLineStart = before === '' || before.endsWith('\n');
  }

  /** The parts that are decided with this delta. */
  push(text: string): ChartPart[] {
    this.#held += text;
    return this.#take(false);
  }

  /** The parts that were held back. A block without an end is ordinary code. */
  end(): ChartPart[] {
    // The closing line of a block may have no newline.
    if (this.#chart && closingIn(this.#held.slice(this.#chart.scanned)) !== undefined) this.#held += '\n';
    return this.#take(true);
  }

  #take(final: boolean): ChartPart[] {
    const parts: ChartPart[] = [];
    while (this.#held !== '' || (final && this.#chart)) {
      const part = this.#chart === undefined ? this.#text(final) : this.#block(this.#chart, final);
      if (part === undefined) break;
      if (part.type === 'chart' || part.text !== '') parts.push(part);
    }
    return parts;
  }

  /** Text up to the end of the line, or as much of it as is decided. */
  #text(final: boolean): ChartPart | undefined {
    const newline = this.#held.indexOf('\n');
    const line = newline === -1 ? this.#held : this.#held.slice(0, newline);
    if (this.#atLineStart && newline === -1 && !final && line.length < LONGEST_LINE && MAY_OPEN.test(line)) {
      return undefined;
    }
    const opened = this.#atLineStart && this.#code === undefined && newline !== -1 ? openingIn(line) : undefined;
    if (opened && /^vega-?lite$/i.test(opened.info)) {
      this.#chart = { fence: opened.fence, scanned: 0 };
      this.#held = this.#held.slice(newline + 1);
      return { type: 'text', text: '' };
    }
    if (newline !== -1) return this.#pass(this.#held.slice(0, newline + 1));
    const passed = line.slice(0, line.length - (final ? 0 : openingAtEnd(line)));
    return passed === '' ? undefined : this.#pass(passed);
  }

  #pass(text: string): ChartPart {
    this.#held = this.#held.slice(text.length);
    if (this.#atLineStart) this.#passLine(text.trimEnd());
    this.#atLineStart = text.endsWith('\n');
    return { type: 'text', text: text.replaceAll(CHART_OPENING, AS_CODE) };
  }

  /** Tracks code blocks over a line. */
  #passLine(line: string): void {
    const fence = this.#code === undefined ? openingIn(line)?.fence : closingIn(line);
    if (fence === undefined) return;
    if (this.#code === undefined) this.#code = fence;
    else if (fence.startsWith(this.#code)) this.#code = undefined;
  }

  /** The held block, once it is complete. If it is too long or has no end, it is released as code. */
  #block(chart: HeldBlock, final: boolean): ChartPart | undefined {
    const end = endOfBlock(this.#held, chart);
    if (end && end.from <= LONGEST_BLOCK) {
      this.#chart = undefined;
      this.#atLineStart = true;
      const block = this.#held.slice(0, end.from);
      this.#held = this.#held.slice(end.to);
      return { type: 'chart', block };
    }
    if (!end && !final && this.#held.length <= LONGEST_BLOCK + LONGEST_LINE) return undefined;
    this.#chart = undefined;
    this.#code = chart.fence;
    this.#atLineStart = true;
    return { type: 'text', text: `${chart.fence}json\n` };
  }
}

/** A held block: its fence, and how far its lines were scanned for the closing fence. */
interface HeldBlock {
  fence: string;
  scanned: number;
}

/** Opens a block that is not a chart. */
const AS_CODE = '```json';

function openingIn(line: string): { fence: string; info: string } | undefined {
  const { fence, info = '' } = (line.length < LONGEST_LINE && OPENS.exec(line)?.groups) || {};
  // A back-tick in the info string makes it a code span, not a block.
  const isClosed = fence?.startsWith('`') && info.includes('`');
  return fence === undefined || isClosed ? undefined : { fence, info: info.trim() };
}

function closingIn(line: string): string | undefined {
  return line.length < LONGEST_LINE ? CLOSES.exec(line)?.[1] : undefined;
}

/** Where the contents of a block end, and where the text after it starts. */
function endOfBlock(held: string, chart: HeldBlock): { from: number; to: number } | undefined {
  for (let newline = held.indexOf('\n', chart.scanned); newline !== -1; newline = held.indexOf('\n', chart.scanned)) {
    const from = chart.scanned;
    if (closingIn(held.slice(from, newline))?.startsWith(chart.fence)) return { from, to: newline + 1 };
    chart.scanned = newline + 1;
  }
  return undefined;
}

/** How many characters at the end of a text may be the start of `CHART_OPENING`. */
function openingAtEnd(text: string): number {
  for (let length = Math.min(text.length, CHART_OPENING.length - 1); length > 0; length--) {
    if (text.endsWith(CHART_OPENING.slice(0, length))) return length;
  }
  return 0;
}
