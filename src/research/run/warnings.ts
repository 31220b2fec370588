import type { Warning } from '../../protocol/warnings.ts';

/** Warnings that a run has at most. */
const MOST = 50;

/** Adds a warning, if it is not there. */
export function addWarning(warnings: Warning[], warning: Warning): void {
  if (warnings.length < MOST && !hasWarning(warnings, warning)) warnings.push(warning);
}

/** Whether the same was said already, or so much that nothing more is said. */
export function hasWarning(warnings: readonly Warning[], { code, message }: Warning): boolean {
  return warnings.length >= MOST || warnings.some((known) => known.code === code && known.message === message);
}

/** What is said of numbers in markers that belong to no source. */
export function citationsWithoutSource(numbers: readonly number[]): Warning[] {
  return [...new Set(numbers)].map((number) => ({
    code: 'citation_without_source',
    message: `The answer cites [${number}], and there is no source of this number.`,
  }));
}
