import { inSlices } from '../../base/load/event-loop.ts';
import { type ChartSpec, channelsOf } from '../../protocol/chart/chart.ts';
import { figuresIn } from '../claims/text/figures.ts';
import { foldText } from '../claims/text/fold.ts';
import { recordsOfRun } from '../report/report-records.ts';
import type { ResearchState } from '../run/state.ts';
import type { ResultEntry } from '../run/transcript.ts';

/** Only the start of longer Python results is read, in UTF-16 code units. */
const LONGEST_RESULT = 100_000;
const PYTHON_NUMBER = /(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)/gi;
/** JSON escapes of white space and control characters. */
const ESCAPED = /\\(?:[nrt]|u[\da-f]{4})/gi;

/** Where the numbers of a chart come from. */
export type ChartOrigin = 'python' | 'records' | 'nowhere';

/** The numbers that charts of a run may show; undefined if it may have no charts. */
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
   * Collects the numbers in the records of a run and in the output of its Python calls. The model's own words are no
   * evidence, only its quotes of sources are.
   */
  static async of(state: ResearchState, about: ReadonlySet<string>): Promise<ChartEvidence> {
    const evidence = new ChartEvidence();
    await inSlices(await recordsOfRun(state, about), ({ quote, note, by }) => {
      evidence.#found.addText(by === 'model' ? quote : `${quote}\n${note}`);
    });
    const isOfPython = ({ call, status }: ResultEntry) =>
      status === 'completed' && state.calls.get(call)?.name === 'execute_python';
    const addNumbers = ({ result }: ResultEntry) => {
      const printed = result.slice(0, LONGEST_RESULT).replace(ESCAPED, ' ');
      for (const [number] of printed.matchAll(PYTHON_NUMBER)) evidence.#computed.add(Number(number));
    };
    await inSlices(state.results.values().filter(isOfPython), addNumbers, { stepsPerClockRead: 1 });
    return evidence;
  }

  /** Where all quantitative numbers of a chart come from. */
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

/** The factors that a title implies for its numbers: `GDP (billion dollars)`. */
function factorsIn(title: string): number[] {
  const words = foldText(title).match(/\p{L}+/gu) ?? [];
  const named = words.flatMap((word) => figuresIn(`1 ${word}`).flatMap(({ values }) => values));
  return [...new Set([1, ...named])];
}

/** A set of numbers that can be searched with a tolerance. */
class Numbers {
  readonly #all = new Set<number>();
  #sorted: number[] | undefined;

  add(value: number): void {
    this.#all.add(value);
    this.#sorted = undefined;
  }

  /** Adds the figures of a text, including years. A minus sign makes them negative. */
  addText(text: string): void {
    const folded = foldText(text);
    for (const { isBelowZero, values } of figuresIn(folded)) {
      for (const value of values) this.add(isBelowZero ? -value : value);
    }
  }

  /** Whether the set has a number, multiplied by one of the factors, or a number that rounds to it. */
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

/** The tolerance for rounding: half of the last digit, for numbers with a fraction and at least two digits. */
function roundedBy(value: number): number {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const decimals = (digits.split('.')[1]?.length ?? 0) - Number(exponent);
  const hasDigits = digits.replace(/^0\.0*|\./g, '').length > 1;
  return decimals > 0 && hasDigits ? 10 ** -decimals * 0.5001 : 0;
}
