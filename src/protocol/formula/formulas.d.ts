import type { MarkedOptions } from 'marked';

/** How Markdown is read so that a formula is a token `formula`, with its `source` and whether it stands alone (`display`). */
export const FORMULAS: NonNullable<MarkedOptions['extensions']>;
