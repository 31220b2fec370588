/** An element of a drawing or a formula. */
export interface DrawnNode {
  tag: string;
  attributes: Readonly<Record<string, string | number>>;
  children: readonly (DrawnNode | string)[];
}

/** The element as markup that stands in a document. */
export function markupOf({ tag, attributes, children }: DrawnNode): string {
  const own = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  const inside = children.map((child) => (typeof child === 'string' ? escaped(child) : markupOf(child)));
  return `<${tag}${own.join('')}>${inside.join('')}</${tag}>`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter] ?? '');
}
