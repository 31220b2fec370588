import type { MarkedOptions } from 'marked';

/** Extends marked: a formula becomes a token `formula` with its `source`, and `display` if it stands alone. */
export const FORMULAS: NonNullable<MarkedOptions['extensions']>;

/** Options of temml for formulas of anybody: what it does not understand throws; macros and sizes (em, pt) are bounded. */
export const FORMULA_OPTIONS: { throwOnError: true; maxExpand: number; maxSize: [number, number] };
