import type { MarkedOptions } from 'marked';

/** Extends marked: a formula becomes a token `formula` with its `source`, and `display` if it stands alone. */
export const FORMULAS: NonNullable<MarkedOptions['extensions']>;
