import type { MarkupNode } from '../drawn-node.ts';

/** A formula in LaTeX as MathML; undefined for what is not understood. */
export function mathOf(source: string, options: { display: boolean }): MarkupNode | undefined;
