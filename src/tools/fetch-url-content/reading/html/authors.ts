import { isObject } from '../../../../base/json.ts';
import { toSingleLine } from '../../../../base/text.ts';
import type { Block } from './blocks.ts';
import { markedAuthors } from './marked-authors.ts';
import { metaContents } from './meta-contents.ts';
import { announcesName, BY, bylineIn, isNames, MAX_NAME_LENGTH, nameIn, namesIn } from './names.ts';
import { type HtmlElement, type HtmlPage, lineOf } from './tree.ts';

const MAX_AUTHORS = 10;

/** Names of meta tags, the most reliable first. */
const META = [
  'author',
  'article:author',
  'dc.creator',
  'dcterms.creator',
  'parsely-author',
  'sailthru.author',
  'byl',
  'twitter:creator_name',
  'dc.contributor',
];

/** Where the names are looked for. */
interface AuthoredPage {
  page: HtmlPage;
  /** The article in structured data, and all nodes of that data. */
  data: Record<string, unknown> | undefined;
  nodes: readonly Record<string, unknown>[];
  elements: readonly HtmlElement[];
  blocks: readonly Block[];
}

/** Who wrote a page, by its structured data, meta tags, elements or the line near its heading, in this order. */
export function authorsOf({ page, data, nodes, elements, blocks }: AuthoredPage): string[] {
  const named = namesOf(data?.author ?? data?.creator, nodes);
  if (named.length > 0) return unique(named);
  const cited = metaContents(page, 'citation_author citation_authors').flatMap((names) =>
    names.split(';').map((name) => name.trim()),
  );
  if (cited.length > 0) return unique(cited.filter((name) => name !== ''));
  const contents = META.map((name) => metaContents(page, name).filter((content) => !isAddress(content)));
  // Unlike a byline, a meta tag holds nothing after the name, so digits belong to the name.
  const meta = contents.find(({ length }) => length > 0) ?? [];
  if (meta.length > 0) return unique(meta.map((name) => name.replace(BY, '').trim()));
  const marked = markedAuthors(elements);
  if (marked.length > 0) return unique(marked.flatMap(namesIn));
  const profile = profileName(page);
  if (profile !== '') return [profile];
  const name = nameInCell(elements) || nameNearHeading(blocks);
  return name !== '' && name.length < MAX_NAME_LENGTH ? unique(namesIn(name)) : [];
}

/** Whether a content is an address without its scheme. */
function isAddress(content: string): boolean {
  return /^[\w-]+(?:\.[\w-]+)+\/\S*$/.test(content);
}

/** The name in the title of a post: social networks put the author's name and account there. */
function profileName(page: HtmlPage): string {
  const [title = ''] = metaContents(page, 'og:title twitter:title');
  return /^(.{1,60}?) \(@[\w.@-]+\)/.exec(title)?.[1] ?? '';
}

/** The name beside `Author:` in a table or a definition list. */
function nameInCell(elements: readonly HtmlElement[]): string {
  const label = elements.find(
    (element) => (element.name === 'th' || element.name === 'dt') && announcesName(lineOf(element)),
  );
  const cells = label?.parent?.elements ?? [];
  const nextCell = label && cells[cells.indexOf(label) + 1];
  const name = nameIn(lineOf(nextCell));
  return namesIn(name).every(isNames) ? name : '';
}

/** How many blocks after the heading are searched for a name. */
const NEAR_HEADING = 8;

/** The name in a byline near the heading, or in the only byline of the page. */
function nameNearHeading(blocks: readonly Block[]): string {
  const heading = blocks.findIndex(({ element }) => element.name === 'h1');
  const near = blocks.slice(Math.max(0, heading - 2), heading + NEAR_HEADING).map(({ text }) => text);
  for (const [at, line] of near.entries()) {
    const name = announcesName(line) ? nameIn(near[at + 1] ?? '') : bylineIn(line);
    if (name !== '' && namesIn(name).every(isNames)) return name;
  }
  const all = new Set(blocks.map(({ text }) => (BY.test(text) ? bylineIn(text) : '')).filter((name) => name !== ''));
  return all.size === 1 ? [...all].join() : '';
}

/** The names in an `author` of structured data, which may be a list or refer to other nodes by id. */
function namesOf(author: unknown, nodes: AuthoredPage['nodes'], depth = 0): string[] {
  if (depth > 2) return [];
  if (Array.isArray(author)) return author.slice(0, MAX_AUTHORS).flatMap((item) => namesOf(item, nodes, depth + 1));
  if (typeof author === 'string') return plainName(author);
  if (!isObject(author)) return [];
  const { name, givenName, familyName, '@id': id } = author;
  const names = namesOf(Array.isArray(name) ? name[0] : name, nodes, 2);
  if (names.length > 0) return names;
  if (typeof givenName === 'string' && typeof familyName === 'string') return plainName(`${givenName} ${familyName}`);
  const described = typeof id === 'string' ? nodes.find((node) => node['@id'] === id && node !== author) : undefined;
  return described ? namesOf(described, nodes, depth + 1) : [];
}

function plainName(value: string): string[] {
  const name = toSingleLine(value);
  return !/[\p{L}\p{N}]/u.test(name) || name.startsWith('http') ? [] : [name.replace(BY, '').trim()];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, MAX_AUTHORS);
}
