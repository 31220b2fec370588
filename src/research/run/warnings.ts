import type { Warning } from '../../protocol/warnings.ts';

/** Warnings that a run has at most. */
const MOST = 50;

/** Adds a warning, if it is not there. */
export function addWarning(warnings: Warning[], warning: Warning): void {
  const { code, message } = warning;
  if (warnings.length < MOST && !warnings.some((known) => known.code === code && known.message === message))
    warnings.push(warning);
}

/** What is said of numbers in markers that belong to no source. */
export function citationsWithoutSource(numbers: readonly number[]): Warning[] {
  return [...new Set(numbers)].map((number) => ({
    code: 'citation_without_source',
    message: `The answer cites [${number}], and there is no source of this number.`,
  }));
}
