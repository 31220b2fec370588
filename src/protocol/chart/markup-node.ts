import { escapeMarkup } from '../../base/text.ts';

/** An element of SVG. */
export interface MarkupNode {
  tag: string;
  attributes: Readonly<Record<string, string | number>>;
  children: readonly (MarkupNode | string)[];
}

/** Serialises an element as markup for a document. */
export function renderMarkup({ tag, attributes, children }: MarkupNode): string {
  const attrs = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeMarkup(String(value))}"`);
  const inner = children.map((child) => (typeof child === 'string' ? escapeMarkup(child) : renderMarkup(child)));
  return `<${tag}${attrs.join('')}>${inner.join('')}</${tag}>`;
}
