import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { type ChartSpec, channelsOf } from '../../protocol/chart/chart.ts';
import { figuresIn } from '../claims/text/figures.ts';
import { foldText } from '../claims/text/fold.ts';
import { recordsOfRun } from '../report/report-records.ts';
import type { ResearchState } from '../run/state.ts';

/** Texts that are looked through before others have their turn. */
const AT_ONCE = 20;
/** Of longer results of Python the beginning is looked through, in UTF-16 code units. */
const LONGEST_RESULT = 100_000;
const PYTHON_NUMBER = /(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)/gi;
/** Line breaks and the like, as JSON writes them. */
const ESCAPED = /\\(?:[nrt]|u[\da-f]{4})/gi;

/** Where the numbers of a chart come from. */
export type ChartOrigin = 'python' | 'records' | 'nowhere';

/** What the charts of a run may show; undefined where it has none. */
export async function chartsOf(
  { request, state }: { request: { charts?: boolean | undefined }; state: ResearchState },
  about: ReadonlySet<string>,
): Promise<ChartEvidence | undefined> {
  return request.charts ? await ChartEvidence.of(state, about) : undefined;
}

/** The numbers that a run found or computed: a chart draws no others (docs/research.md, "Charts"). */
export class ChartEvidence {
  readonly #found = new Numbers();
  readonly #computed = new Numbers();

  /**
   * The numbers in the records of a run and in what its Python gave. What a model noted in its own words is no evidence:
   * the words of the source are.
   */
  static async of(state: ResearchState, about: ReadonlySet<string>): Promise<ChartEvidence> {
    const evidence = new ChartEvidence();
    let seen = 0;
    for (const { quote, note, by } of await recordsOfRun(state, about)) {
      evidence.#found.addText(by === 'model' ? quote : `${quote}\n${note}`);
      if (++seen % AT_ONCE === 0) await yieldToEventLoop();
    }
    for (const { call, status, result } of state.results.values()) {
      if (status !== 'completed' || state.made.get(call)?.name !== 'execute_python') continue;
      const printed = result.slice(0, LONGEST_RESULT).replace(ESCAPED, ' ');
      for (const [number] of printed.matchAll(PYTHON_NUMBER)) {
        evidence.#computed.add(Number(number));
      }
      await yieldToEventLoop();
    }
    return evidence;
  }

  /** Where all the measured numbers of a chart stand. */
  originOf(chart: ChartSpec): ChartOrigin {
    const channels = channelsOf(chart).filter(({ type }) => type === 'quantitative');
    const numbers = channels.flatMap((channel) => {
      const factors = factorsIn(`${channel.title ?? ''} ${channel.field} ${chart.title}`);
      return chart.data.values.map((row) => ({ value: Number(row[channel.field]), factors }));
    });
    if (numbers.every(({ value, factors }) => this.#computed.has(value, factors))) return 'python';
    const isKnown = numbers.every(
      ({ value, factors }) => this.#found.has(value, factors) || this.#computed.has(value, factors),
    );
    return isKnown ? 'records' : 'nowhere';
  }
}

/** What an axis says that its numbers are multiplied by: `GDP (billion dollars)`. */
function factorsIn(title: string): number[] {
  const words = foldText(title).match(/\p{L}+/gu) ?? [];
  const named = words.flatMap((word) => figuresIn(`1 ${word}`).flatMap(({ values }) => values));
  return [...new Set([1, ...named])];
}

/** Numbers in their order. */
class Numbers {
  readonly #all = new Set<number>();
  #sorted: number[] | undefined;

  add(value: number): void {
    this.#all.add(value);
    this.#sorted = undefined;
  }

  /** The figures of a text, years among them. One that is written with a minus is below zero. */
  addText(text: string): void {
    const folded = foldText(text);
    for (const { start, values } of figuresIn(folded)) {
      const sign = BELOW_ZERO.test(folded.slice(Math.max(0, start - 8), start)) ? -1 : 1;
      for (const value of values) this.add(sign * value);
    }
  }

  /** Whether a number stands here, or one that it is rounded from. */
  has(value: number, factors: readonly number[]): boolean {
    return factors.some((factor) => {
      const near = Math.max(Math.abs(value) * 1e-9, roundedBy(value)) * factor;
      const closest = this.#closest(value * factor, near);
      return closest !== undefined;
    });
  }

  #closest(value: number, near: number): number | undefined {
    this.#sorted ??= [...this.#all].sort((a, b) => a - b);
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#sorted[middle] ?? 0) < value - near) from = middle + 1;
      else to = middle;
    }
    const found = this.#sorted[from];
    return found !== undefined && found <= value + near ? found : undefined;
  }
}

const BELOW_ZERO = /(?:^|[^\p{L}\p{N}])(?:[-–]|minus )$/u;

/** How far a number may be from what it is rounded from: half of its last digit, where it has a fraction and two digits. */
function roundedBy(value: number): number {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const decimals = (digits.split('.')[1]?.length ?? 0) - Number(exponent);
  const hasDigits = digits.replace(/^0\.0*|\./g, '').length > 1;
  return decimals > 0 && hasDigits ? 10 ** -decimals * 0.5001 : 0;
}
