import { announcesName, MAX_NAME_LENGTH, nameIn } from './names.ts';
import { closest, elementsBelow, findElement, type HtmlElement, lineOf, textOf, textStart } from './tree.ts';

/** Finds authors by the markup of elements. */

/** Classes that themes give to elements with the author's name. */
const BYLINES = [
  'byline-name',
  'byline',
  'author-name',
  'author',
  'p-author',
  'entry-author',
  'post-author',
  'ltx_personname',
  'avatar__name',
  'wp-block-post-author-name',
  'hnuser',
];
/** Words before `name` in the class of a byline. */
const AUTHOR = /^(?:author|authors|byline)$/;
/** The longest line of several names, in characters. */
const MAX_GROUP_LENGTH = 240;
const MAX_STEPS_UP = 6;
const MAX_AUTHORS = 10;
/** How many marked elements are considered. */
const MAX_MARKED = 200;

/** The kinds of marks, the most reliable first. */
const MARKS: readonly ((element: HtmlElement) => boolean)[] = [
  ({ attributes, parent }) => attributes.itemprop === 'name' && closest(parent, isAuthor) !== undefined,
  isAuthor,
  ({ attributes }) => attributes['data-author'] !== undefined,
  namesAuthor,
  (element) => BYLINES.some((name) => element.hasClass(name)),
  ({ name, attributes }) => name === 'a' && /\/(?:authors?|contributors?)\/[^/?#]+\/?$/.test(attributes.href ?? ''),
];

/** The names in elements that are marked as author names, by the most reliable kind of mark on the page. */
export function markedAuthors(elements: readonly HtmlElement[]): string[] {
  for (const isMarked of MARKS) {
    const marked = elements
      .filter(isMarked)
      .slice(0, MAX_MARKED)
      .find((element) => !isOtherContent(element));
    const names = marked ? namesBeside(marked, isMarked) : [];
    if (names.length > 0) return names;
  }
  return [];
}

/** The names of all elements with the same mark in the same line or box. */
function namesBeside(marked: HtmlElement, isMarked: (element: HtmlElement) => boolean): string[] {
  let group = marked;
  for (let steps = 0; steps < MAX_STEPS_UP && group.parent; steps++) {
    if (textStart(group.parent, MAX_GROUP_LENGTH).length >= MAX_GROUP_LENGTH) break;
    group = group.parent;
  }
  const all = markedSiblings(group, isMarked).flatMap((node) => [node, ...elementsBelow(node)].filter(isMarked));
  const marks = new Set(all);
  const outer = all.filter(({ parent }) => !parent || !marks.has(parent));
  return [...new Set(outer.map(nameOf).filter((name) => name !== ''))].slice(0, MAX_AUTHORS);
}

/** An element and its next siblings as long as they are short and are, or contain, marked elements. */
function markedSiblings(first: HtmlElement, isMarked: (element: HtmlElement) => boolean): HtmlElement[] {
  const siblings = first.parent?.elements ?? [first];
  const next = siblings.slice(siblings.indexOf(first) + 1, siblings.indexOf(first) + MAX_AUTHORS);
  const end = next.findIndex(
    (element) => lineOf(element).length >= MAX_NAME_LENGTH || !(isMarked(element) || findElement(element, isMarked)),
  );
  return [first, ...(end < 0 ? next : next.slice(0, end))];
}

function nameOf(element: HtmlElement): string {
  const { content = '', 'data-author': dataAuthor = '' } = element.attributes;
  const line = textOf(element)
    .split('\n')
    .find((text) => text.trim() !== '' && !announcesName(text.trim()));
  const name = nameIn(content.trim() || dataAuthor.trim() || (line ?? ''));
  return name.length < MAX_NAME_LENGTH ? name : '';
}

function isAuthor({ attributes }: HtmlElement): boolean {
  return attributes.itemprop === 'author' || /(?:^|\s)author(?:\s|$)/.test(attributes.rel ?? '');
}

/** Whether a class or test id says `author name`, however it joins the words. */
function namesAuthor({ attributes }: HtmlElement): boolean {
  const { class: classes = '', 'data-testid': id = '' } = attributes;
  if (!/name/i.test(classes + id)) return false;
  return `${classes} ${id}`
    .slice(0, 1000)
    .split(/\s+/)
    .some((token) => {
      const parts = token
        .replace(/([a-z])([A-Z])/g, '$1-$2')
        .toLowerCase()
        .split(/[-_]+/);
      const at = parts.indexOf('name');
      return at > 0 && AUTHOR.test(parts[at - 1] ?? '') && !parts.includes('comment');
    });
}

/** Whether an element is in the comments, the navigation or a list of other articles. */
function isOtherContent(element: HtmlElement): boolean {
  return (
    closest(element, ({ name, attributes }) => {
      if (name === 'nav') return true;
      const { class: classes = '', id = '' } = attributes;
      return /(?:^|[\s_-])(?:comments|commentlist|comment-list|related|recommended|recirculation)(?:$|[\s_-])/i.test(
        `${classes} ${id}`,
      );
    }) !== undefined
  );
}
