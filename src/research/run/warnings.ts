import type { Warning } from '../../protocol/warnings.ts';

/** How many warnings a run may have. */
const MAX_WARNINGS = 50;

/** Adds a warning unless it is a repeat or the list is full. */
export function addWarning(warnings: Warning[], warning: Warning): void {
  if (!hasWarning(warnings, warning)) warnings.push(warning);
}

/** Whether the warning is a repeat, or the list is full and takes no more. */
export function hasWarning(warnings: readonly Warning[], { code, message }: Warning): boolean {
  return warnings.length >= MAX_WARNINGS || warnings.some((known) => known.code === code && known.message === message);
}

/** The warnings for cited numbers that belong to no source. */
export function citationsWithoutSource(numbers: readonly number[]): Warning[] {
  return [...new Set(numbers)].map((number) => ({
    code: 'citation_without_source',
    message: `The answer cites [${number}], and there is no source of this number.`,
  }));
}
