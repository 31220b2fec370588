import { closest, type HtmlElement, type HtmlNode } from '../html/tree.ts';

const UNREAD = new Set(['textarea', 'rt', 'rp', 'rtc', 'title', 'meta', 'optgroup', 'option', 'progress', 'meter']);

/** Whether what an element holds is read. Over its characters a ruby text stands as they are spoken. */
export function isShown(element: HtmlElement): boolean {
  if (element.isClutter || UNREAD.has(element.name)) return false;
  if (element.name === 'input') return element.attribute('type').toLowerCase() === 'checkbox';
  return element.name !== 'button' || opens(element);
}

/** A button that shows a part of the page is the heading of that part; others do something. */
function opens(button: HtmlElement): boolean {
  const { attributes } = button;
  const shows = attributes['aria-expanded'] !== undefined || attributes['aria-controls'] !== undefined;
  if (shows || attributes.role === 'tab') return true;
  const heading = closest(button, ({ name }) => /^h[1-6]$|^summary$|^dt$/.test(name));
  // Beside other text of a heading it does something to what stands there: it copies, or edits.
  return heading !== undefined && isAloneIn(heading, button);
}

/** More children are not looked at: a heading may hold as many as its page. */
const MOST_CHILDREN = 20;

function isAloneIn(heading: HtmlElement, element: HtmlElement): boolean {
  for (let each = element; each !== heading && each.parent; each = each.parent) {
    const { children } = each.parent;
    if (children.length > MOST_CHILDREN || children.some((other) => other !== each && hasText(other, 0))) return false;
  }
  return true;
}

function hasText(node: HtmlNode, depth: number): boolean {
  if (typeof node === 'string') return node.trim() !== '';
  return depth > 2 || node.children.length > MOST_CHILDREN || node.children.some((child) => hasText(child, depth + 1));
}
