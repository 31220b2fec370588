import { closest, type HtmlElement, type HtmlNode } from '../html/tree.ts';

const UNREADABLE = new Set(['textarea', 'rt', 'rp', 'rtc', 'title', 'meta', 'optgroup', 'option', 'progress', 'meter']);

/** Whether the Markdown shows the text of an element. Ruby annotations are left out: they repeat it as it is spoken. */
export function hasReadableText(element: HtmlElement): boolean {
  if (element.isClutter || UNREADABLE.has(element.name)) return false;
  if (element.name === 'input') return element.attribute('type').toLowerCase() === 'checkbox';
  return element.name !== 'button' || opens(element);
}

/** Whether a button opens a part of the page: then it is the heading of that part. Other buttons only act. */
function opens(button: HtmlElement): boolean {
  const { attributes } = button;
  const shows = attributes['aria-expanded'] !== undefined || attributes['aria-controls'] !== undefined;
  if (shows || attributes.role === 'tab') return true;
  const heading = closest(button, ({ name }) => /^h[1-6]$|^summary$|^dt$/.test(name));
  // A button beside other text of a heading acts on it: it copies or edits.
  return heading !== undefined && isAloneIn(heading, button);
}

/** How many children are inspected: a heading may hold as many as its page. */
const MAX_CHILDREN = 20;

function isAloneIn(heading: HtmlElement, element: HtmlElement): boolean {
  for (let current = element; current !== heading && current.parent; current = current.parent) {
    const { children } = current.parent;
    if (children.length > MAX_CHILDREN || children.some((other) => other !== current && hasText(other, 0)))
      return false;
  }
  return true;
}

function hasText(node: HtmlNode, depth: number): boolean {
  if (typeof node === 'string') return node.trim() !== '';
  return depth > 2 || node.children.length > MAX_CHILDREN || node.children.some((child) => hasText(child, depth + 1));
}
