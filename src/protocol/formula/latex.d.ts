import type { MarkupNode } from '../markup-node.ts';

/** Converts LaTeX to MathML; undefined if it is not supported. */
export function mathOf(source: string, options: { display: boolean }): MarkupNode | undefined;
