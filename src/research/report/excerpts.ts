import { toSingleLine } from '../../base/text.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import type { Range } from '../claims/verbatim.ts';
import type { Source } from '../run/sources.ts';

/**
 * What a model is shown of the sources of some claims, each part once: sentences of one section mostly rest on the same
 * paragraphs.
 */
export class Excerpts {
  readonly #claims: ClaimChecker;
  readonly #ranges = new Map<Source, Range[]>();

  constructor(claims: ClaimChecker) {
    this.#claims = claims;
  }

  /** In UTF-16 code units, without the numbers of sources. */
  get length(): number {
    return [...this.#ranges.values()].flat().reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** Adds the passages of a source that share most with a claim, with their surroundings. */
  add(claim: string, source: Source): void {
    const all = [...(this.#ranges.get(source) ?? []), ...this.#claims.passages(claim, source)];
    const merged: Range[] = [];
    for (const { start, end } of all.sort((a, b) => a.start - b.start)) {
      const last = merged.at(-1);
      if (last && start <= last.end + 1) last.end = Math.max(last.end, end);
      else merged.push({ start, end });
    }
    this.#ranges.set(source, merged);
  }

  /** All of them, each with the number of its source, on a line of its own: no page can write what looks like a question. */
  text(): string {
    return [...this.#ranges]
      .toSorted(([a], [b]) => a.id - b.id)
      .flatMap(([source, ranges]) =>
        ranges.map((range) => `[${source.id}] ${toSingleLine(this.#claims.textIn(source, range))}`),
      )
      .join('\n');
  }
}
