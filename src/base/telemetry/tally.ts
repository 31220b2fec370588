import { Counter, type Registry } from 'prom-client';

/** Sums by the values of labels: those of the first one, below each of them those of the next. */
interface Branch {
  below: Map<string, Branch>;
  sum: number | undefined;
}

function newBranch(): Branch {
  return { below: new Map(), sum: undefined };
}

/**
 * A counter of Prometheus for what every request counts. prom-client finds a sum by a text that it makes of all labels,
 * which for the counts of one passed call takes a twentieth of all the call takes; these are told to it when metrics are
 * read.
 */
export class Tally {
  readonly #labelNames: readonly string[];
  readonly #root = newBranch();

  constructor({ registry, ...options }: { name: string; help: string; labelNames: string[]; registry: Registry }) {
    this.#labelNames = options.labelNames;
    const tell = (counter: Counter) => this.#tell(counter);
    new Counter({
      ...options,
      registers: [registry],
      collect() {
        this.reset();
        tell(this);
      },
    });
  }

  /** Adds to the sum of these values of the labels, in the order of their names. */
  add(amount: number, ...values: string[]): void {
    let branch = this.#root;
    for (const value of values) branch = branch.below.getOrInsertComputed(value, newBranch);
    branch.sum = (branch.sum ?? 0) + amount;
  }

  #tell(counter: Counter, branch = this.#root, values: readonly string[] = []): void {
    const labels = Object.fromEntries(values.map((value, at) => [this.#labelNames[at] ?? '', value]));
    if (branch.sum !== undefined) counter.inc(labels, branch.sum);
    for (const [value, below] of branch.below) this.#tell(counter, below, [...values, value]);
  }
}
