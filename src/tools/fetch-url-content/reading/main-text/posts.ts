import type { Block } from '../html/blocks.ts';
import { closest, type HtmlElement } from '../html/tree.ts';
import { isFrame } from './page-frame.ts';

/** An element that may be a post, with the indexes of its blocks. */
interface Post {
  element: HtmlElement;
  places: number[];
}

/** The share of a page's sentences that a thread holds. */
const THREAD_SHARE = 0.3;
/** The share of all that its posts say which an element holds that is their text or around it. */
const TEXT_SHARE = 0.6;

/**
 * The texts of the posts of a thread, short answers included, without names, dates and buttons. Posts are elements of
 * one kind with numbered ids; no sentence stands between them and the page's title.
 *
 * @param echoes indexes of blocks that repeat on the page, such as buttons
 */
export function findPosts(
  blocks: readonly Block[],
  { prose, title, echoes }: { prose: readonly boolean[]; title: number; echoes: ReadonlySet<number> },
): Set<HtmlElement> {
  const ownLength = (at: number) => (echoes.has(at) ? 0 : (blocks[at]?.text.length ?? 0) - (blocks[at]?.linked ?? 0));
  const sumOf = (places: readonly number[]) => places.reduce((sum, at) => sum + ownLength(at), 0);
  let thread: Post[] = [];
  let longest = 0;
  for (const posts of numberedElements(blocks)) {
    const length = sumOf(placesOf(posts));
    if (length > longest && isThread(posts, blocks)) [thread, longest] = [posts, length];
  }
  const first = thread[0]?.places[0] ?? 0;
  if (title < 0 || first <= title || prose.slice(title + 1, first).includes(true)) return new Set();
  const proseIn = (places: readonly number[]) =>
    places.reduce((sum, at) => sum + (prose[at] ? (blocks[at]?.text.length ?? 0) : 0), 0);
  const sentences = proseIn(placesOf(thread));
  if (sentences === 0 || sentences < proseIn([...blocks.keys()]) * THREAD_SHARE) return new Set();
  return textsOf(thread, blocks, ownLength);
}

function placesOf(posts: readonly Post[]): number[] {
  return posts.flatMap(({ places }) => places);
}

/** Whether elements may be posts: with a name or a date beside their text, and without titles of their own. */
function isThread(posts: readonly Post[], blocks: readonly Block[]): boolean {
  const isTitled = ({ places }: Post) => places.some((at) => /^h[12]$/.test(blocks[at]?.element.name ?? ''));
  return (
    posts.length > 1 && placesOf(posts).length >= posts.length * 2 && posts.filter(isTitled).length <= posts.length / 2
  );
}

/** Elements outside of the page's frame with the same name, depth, parent's classes and id but for its number. */
function numberedElements(blocks: readonly Block[]): Post[][] {
  const groups = new Map<string, Post[]>();
  const known = new Map<HtmlElement, Post>();
  const ids = new Map<HtmlElement, string | undefined>();
  for (const [at, { element }] of blocks.entries()) {
    const above: HtmlElement[] = [];
    for (let node: HtmlElement | undefined = element; node; node = node.parent) above.push(node);
    if (above.some(isFrame)) continue;
    for (const [up, node] of above.entries()) {
      const id = ids.getOrInsertComputed(node, () => postId(node.attributes));
      if (id === undefined) continue;
      const post = known.getOrInsertComputed(node, () => {
        const added = { element: node, places: [] };
        const key = `${above.length - up} ${node.parent?.attribute('class')} ${node.name} ${id}`;
        groups.getOrInsertComputed(key, () => []).push(added);
        return added;
      });
      post.places.push(at);
    }
  }
  return [...groups.values()];
}

/** What the ids of posts have in common: the id without its number, or the name of an attribute for it. */
function postId(attributes: HtmlElement['attributes']): string | undefined {
  const { id = '' } = attributes;
  const stem = id.replace(/\d{1,20}$/, '');
  if (stem !== id) return stem;
  return Object.keys(attributes).find((name) => /^data-(?:[a-z]{1,20}-)?p?id$/.test(name));
}

/** The innermost elements that are alike in all posts and hold most of what each says of its own. */
function textsOf(
  posts: readonly Post[],
  blocks: readonly Block[],
  ownLength: (at: number) => number,
): Set<HtmlElement> {
  const places = placesOf(posts).filter((at) => ownLength(at) > 0);
  const total = places.reduce((sum, at) => sum + ownLength(at), 0);
  let texts = new Set(posts.map(({ element }) => element));
  for (;;) {
    const kinds = new Map<string, { length: number; elements: Set<HtmlElement> }>();
    for (const at of places) {
      const inner = closest(blocks[at]?.element, ({ parent }) => parent !== undefined && texts.has(parent));
      if (!inner) continue;
      const kind = kinds.getOrInsertComputed(kindOf(inner), () => ({ length: 0, elements: new Set() }));
      kind.length += ownLength(at);
      kind.elements.add(inner);
    }
    const main = [...kinds.values()].find(({ length }) => length >= total * TEXT_SHARE);
    if (!main || main.elements.size < 2 || main.elements.size > posts.length) return texts;
    texts = main.elements;
  }
}

function kindOf({ name, attributes }: HtmlElement): string {
  const [className = ''] = (attributes.class ?? '').split(/\s+/).filter((token) => !/\d/.test(token));
  return `${name}.${className}`;
}
