import { CHART_OPENING } from '../../protocol/chart/chart-blocks.ts';

/** A piece of an answer in order: text as it is, or the inside of a block that is to be a chart. */
export type ChartPart = { type: 'text'; text: string } | { type: 'chart'; block: string };

/** A longer block is no chart; in UTF-16 code units. */
const LONGEST_BLOCK = 40_000;
/** A longer line opens and closes nothing. */
const LONGEST_LINE = 200;
/** What may begin a block, and is looked at when its line is whole. */
const MAY_OPEN = /^ {0,3}(?:`{0,2}$|~{0,2}$|`{3}|~{3})/;
const OPENS = /^ {0,3}(?<fence>`{3,}(?!`)|~{3,}(?!~))(?<info>[^\n]*)$/;
const CLOSES = /^ {0,3}(`{3,}|~{3,})\s*$/;

/**
 * Takes the blocks `vega-lite` out of a Markdown text while it streams: they are held back until they are whole. What it
 * lets through never has the line that marks a chart, so that nobody takes for one what was not looked at: elsewhere than
 * at the beginning of a line such a block is one of `json`. What comes out does not depend on how the text was cut.
 */
export class ChartFilter {
  #held = '';
  #atLineStart = true;
  /** The fence of a block of other code. */
  #code: string | undefined;
  #chart: HeldBlock | undefined;

  /** @param before what of the text was let through, or written for its charts, already. */
  constructor(before = '') {
    for (const line of before.split('\n')) this.#passLine(line);
    this.#atLineStart = before === '' || before.endsWith('\n');
  }

  /** What is decided with this piece. */
  push(text: string): ChartPart[] {
    this.#held += text;
    return this.#take(false);
  }

  /** What was held back; a block that has no end is one of code. */
  end(): ChartPart[] {
    // The closing line of a block may have no newline.
    if (this.#chart && closedBy(this.#held.slice(this.#chart.seen)) !== undefined) this.#held += '\n';
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

  /** Text up to the end of a line, or as much of it as is decided. */
  #text(final: boolean): ChartPart | undefined {
    const newline = this.#held.indexOf('\n');
    const line = newline === -1 ? this.#held : this.#held.slice(0, newline);
    if (this.#atLineStart && newline === -1 && !final && line.length < LONGEST_LINE && MAY_OPEN.test(line)) {
      return undefined;
    }
    const opened = this.#atLineStart && this.#code === undefined && newline !== -1 ? openedBy(line) : undefined;
    if (opened && /^vega-?lite$/i.test(opened.info)) {
      this.#chart = { fence: opened.fence, seen: 0 };
      this.#held = this.#held.slice(newline + 1);
      return { type: 'text', text: '' };
    }
    if (newline !== -1) return this.#pass(this.#held.slice(0, newline + 1));
    const passed = line.slice(0, line.length - (final ? 0 : begunAtEnd(line)));
    return passed === '' ? undefined : this.#pass(passed);
  }

  #pass(text: string): ChartPart {
    this.#held = this.#held.slice(text.length);
    if (this.#atLineStart) this.#passLine(text.trimEnd());
    this.#atLineStart = text.endsWith('\n');
    return { type: 'text', text: text.replaceAll(CHART_OPENING, AS_CODE) };
  }

  /** What the beginning of a line says of the blocks of code around it. */
  #passLine(line: string): void {
    const fence = this.#code === undefined ? openedBy(line)?.fence : closedBy(line);
    if (fence === undefined) return;
    if (this.#code === undefined) this.#code = fence;
    else if (fence.startsWith(this.#code)) this.#code = undefined;
  }

  /** The block that is held, once it is whole; one that is too long, or has no end, is let go as code. */
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

/** A block that is held: its fence, and how far its lines were looked at. */
interface HeldBlock {
  fence: string;
  seen: number;
}

/** What a block that is no chart begins with. */
const AS_CODE = '```json';

function openedBy(line: string): { fence: string; info: string } | undefined {
  const { fence, info = '' } = (line.length < LONGEST_LINE && OPENS.exec(line)?.groups) || {};
  // What back-ticks close in its own line is no block.
  const isClosed = fence?.startsWith('`') && info.includes('`');
  return fence === undefined || isClosed ? undefined : { fence, info: info.trim() };
}

function closedBy(line: string): string | undefined {
  return line.length < LONGEST_LINE ? CLOSES.exec(line)?.[1] : undefined;
}

/** Where a block ends, and the text behind it begins. */
function endOfBlock(held: string, chart: HeldBlock): { from: number; to: number } | undefined {
  for (let newline = held.indexOf('\n', chart.seen); newline !== -1; newline = held.indexOf('\n', chart.seen)) {
    const from = chart.seen;
    if (closedBy(held.slice(from, newline))?.startsWith(chart.fence)) return { from, to: newline + 1 };
    chart.seen = newline + 1;
  }
  return undefined;
}

/** How many letters at the end of a text may become the mark of a chart. */
function begunAtEnd(text: string): number {
  for (let length = Math.min(text.length, CHART_OPENING.length - 1); length > 0; length--) {
    if (text.endsWith(CHART_OPENING.slice(0, length))) return length;
  }
  return 0;
}
