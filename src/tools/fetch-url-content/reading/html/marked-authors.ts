import { announcesName, LONGEST_NAME, nameIn } from './names.ts';
import { beginningOf, closest, elementsBelow, findElement, type HtmlElement, lineOf, textOf } from './tree.ts';

/** Elements that say by their markup who wrote a page. */

/** Classes of the elements in which themes say who wrote a page. */
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
/** Parts of a class that stand before `name` in one of a byline. */
const AUTHOR = /^(?:author|authors|byline)$/;
/** A line that holds several names is no longer than this, in characters. */
const LONGEST_GROUP = 240;
const STEPS_UP = 6;
const MAX_AUTHORS = 10;
/** Of elements that are marked, so many are looked at. */
const MOST_MARKED = 200;

/** The kinds of marks, the surest first. */
const MARKS: readonly ((element: HtmlElement) => boolean)[] = [
  ({ attributes, parent }) => attributes.itemprop === 'name' && closest(parent, isAuthor) !== undefined,
  isAuthor,
  ({ attributes }) => attributes['data-author'] !== undefined,
  namesAuthor,
  (element) => BYLINES.some((name) => element.hasClass(name)),
  ({ name, attributes }) => name === 'a' && /\/(?:authors?|contributors?)\/[^/?#]+\/?$/.test(attributes.href ?? ''),
];

/** The names in the elements that are marked as those of authors, of the surest kind that there is. */
export function markedAuthors(elements: readonly HtmlElement[]): string[] {
  for (const isMarked of MARKS) {
    const marked = elements
      .filter(isMarked)
      .slice(0, MOST_MARKED)
      .find((element) => !isOfOthers(element));
    const names = marked ? namesBeside(marked, isMarked) : [];
    if (names.length > 0) return names;
  }
  return [];
}

/** Those that are marked likewise in the same line or box. */
function namesBeside(marked: HtmlElement, isMarked: (element: HtmlElement) => boolean): string[] {
  let group = marked;
  for (let steps = 0; steps < STEPS_UP && group.parent; steps++) {
    if (beginningOf(group.parent, LONGEST_GROUP).length >= LONGEST_GROUP) break;
    group = group.parent;
  }
  const all = besideEachOther(group, isMarked).flatMap((one) => [one, ...elementsBelow(one)].filter(isMarked));
  const marks = new Set(all);
  const outer = all.filter((one) => !one.parent || !marks.has(one.parent));
  return [...new Set(outer.map(nameOf).filter((name) => name !== ''))].slice(0, MAX_AUTHORS);
}

/** An element and those behind it that are marked, or hold what is marked. */
function besideEachOther(first: HtmlElement, isMarked: (element: HtmlElement) => boolean): HtmlElement[] {
  const siblings = first.parent?.elements ?? [first];
  const behind = siblings.slice(siblings.indexOf(first) + 1, siblings.indexOf(first) + MAX_AUTHORS);
  const end = behind.findIndex(
    (one) => lineOf(one).length >= LONGEST_NAME || !(isMarked(one) || findElement(one, isMarked)),
  );
  return [first, ...(end < 0 ? behind : behind.slice(0, end))];
}

function nameOf(element: HtmlElement): string {
  const { content = '', 'data-author': told = '' } = element.attributes;
  const shown = textOf(element)
    .split('\n')
    .find((line) => line.trim() !== '' && !announcesName(line.trim()));
  const name = nameIn(content.trim() || told.trim() || (shown ?? ''));
  return name.length < LONGEST_NAME ? name : '';
}

function isAuthor({ attributes }: HtmlElement): boolean {
  return attributes.itemprop === 'author' || /(?:^|\s)author(?:\s|$)/.test(attributes.rel ?? '');
}

/** Whether a class, or the name for tests, says `author name`, in whatever way themes join words. */
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

/** Whether it stands among what others wrote: comments, and what else the site has. */
function isOfOthers(element: HtmlElement): boolean {
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
