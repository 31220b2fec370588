import { escapedMarkup } from '../base/text.ts';

/** An element of a drawing or a formula. */
export interface MarkupNode {
  tag: string;
  attributes: Readonly<Record<string, string | number>>;
  children: readonly (MarkupNode | string)[];
}

/** The element as markup that stands in a document. */
export function markupOf({ tag, attributes, children }: MarkupNode): string {
  const own = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapedMarkup(String(value))}"`);
  const inside = children.map((child) => (typeof child === 'string' ? escapedMarkup(child) : markupOf(child)));
  return `<${tag}${own.join('')}>${inside.join('')}</${tag}>`;
}
