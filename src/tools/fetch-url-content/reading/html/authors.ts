import { isObject } from '../../../../base/json.ts';
import type { Block } from './blocks.ts';
import { metaContents } from './meta-contents.ts';
import { closest, type HtmlElement, type HtmlPage, lineOf, onOneLine, textOf } from './tree.ts';

const MAX_AUTHORS = 10;
/** In characters. */
const LONGEST_NAME = 120;
const LONGEST_LINE = 400;

/** Names of meta tags, the surest first. */
const META =
  'author article:author dc.creator dcterms.creator parsely-author sailthru.author byl twitter:creator_name dc.contributor';

/** What is looked at for the names. */
interface AuthoredPage {
  page: HtmlPage;
  /** The article in structured data. */
  data: Record<string, unknown> | undefined;
  elements: readonly HtmlElement[];
  blocks: readonly Block[];
}

/** Who wrote a page: as structured data, meta tags, its elements or the line under its heading say. */
export function authorsOf({ page, data, elements, blocks }: AuthoredPage): string[] {
  const named = authorNames(data?.author);
  if (named.length > 0) return named;
  const cited = metaContents(page, 'citation_author citation_authors').flatMap((names) =>
    names.split(';').map((name) => name.trim()),
  );
  if (cited.length > 0) return unique(cited.filter((name) => name !== ''));
  const [one] = metaContents(page, META);
  // A name may hold figures: nothing stands behind it here.
  if (one?.trim()) return [one.replace(BY, '').trim()];
  const isAuthor = ({ attributes }: HtmlElement) => attributes.itemprop === 'author' || attributes.rel === 'author';
  const marked =
    elements.find((each) => each.attributes.itemprop === 'name' && closest(each.parent, isAuthor)) ??
    elements.find(isAuthor) ??
    elements.find(({ attributes }) => attributes['data-author'] !== undefined) ??
    elements.find((each) => BYLINES.some((name) => each.hasClass(name)));
  const { content = '', 'data-author': told = '' } = marked?.attributes ?? {};
  const shown = content.trim() || told.trim() || (marked ? firstLine(marked) : '');
  const name = nameIn(shown) || ofProfile(page) || afterBy(blocks);
  return name !== '' && name.length < LONGEST_NAME ? [name] : [];
}

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
  'hnuser',
];

function firstLine(element: HtmlElement): string {
  const lines = textOf(element).split('\n');
  return lineOf(lines.find((line) => line.trim() !== ''));
}

/** `By`, in the languages that are read most. */
const BY = /^(?:written by|posted by|by|von|par|por|di|door|af|av|بقلم)[\s:]+/i;
/** What stands behind a name: what was done, and when. */
const BEHIND_NAME = /(?:^|[\s,·|•–—-]{1,4})(?:(?:published|posted|updated|last|on)\b.*|\d.*|)$|\s[·|•].*$/is;

function nameIn(line: string): string {
  const name = onOneLine(line.slice(0, LONGEST_LINE)).replace(BY, '').replace(BEHIND_NAME, '').trim();
  return /\p{L}/u.test(name) ? name : '';
}

/** Networks title a post with the name and the account of who wrote it. */
function ofProfile(page: HtmlPage): string {
  const [title = ''] = metaContents(page, 'og:title twitter:title');
  return /^(.{1,60}?) \(@[\w.@-]+\)/.exec(title)?.[1] ?? '';
}

/** Blocks around the heading of a page in which a name may stand. */
const NEAR_HEADING = 8;

/** Names begin with capitals, or are written without them. */
const NAMES = /^\p{Lu}[\p{L}.'’-]*(?:(?:\s|,\s)(?:(?:and|und|et|y|e|&|de|van|von|der|la)\s)?\p{Lu}[\p{L}.'’-]*){0,7}$/u;

/** The line beside the heading that begins with `By`, or the only one of the page. */
function afterBy(blocks: readonly Block[]): string {
  const names = blocks.map(({ text }) => (text.length < LONGEST_NAME && BY.test(text) ? nameIn(text) : ''));
  const heading = blocks.findIndex(({ element }) => element.name === 'h1');
  const near = names.slice(Math.max(0, heading - 2), heading + NEAR_HEADING).find((name) => NAMES.test(name));
  const all = new Set(names.filter((name) => NAMES.test(name)));
  return near ?? (all.size === 1 ? [...all].join() : '');
}

function authorNames(author: unknown): string[] {
  if (Array.isArray(author)) return unique(author.slice(0, MAX_AUTHORS).flatMap(authorNames)).slice(0, MAX_AUTHORS);
  const given = isObject(author) ? author.name : author;
  const name = typeof given === 'string' ? given.replace(/\s+/g, ' ').trim() : '';
  return !/[\p{L}\p{N}]/u.test(name) || name.startsWith('http') ? [] : [name.replace(BY, '').trim()];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, MAX_AUTHORS);
}
