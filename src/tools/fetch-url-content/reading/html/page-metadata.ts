import { isObject, parseJson } from '../../../../base/json.ts';
import type { DomDocument } from './dom.ts';

/** What a page says about itself. */
export interface PageMetadata {
  title: string;
  author?: string;
  published?: string;
  updated?: string;
  /** BCP 47, such as `en` or `pt-BR`. */
  language?: string;
}

/** Nodes of structured data that describe the page itself. */
const ARTICLE_TYPE = /Article|Posting|WebPage|Report|Recipe|Product|Book|Question|Dataset|Course|Event|Podcast|Video/i;
/** Those that say that its text is an article. */
const PROSE_TYPE = /Article|Posting|Report$|Review$/i;

const MAX_NODES = 300;
const MAX_AUTHORS = 10;

/** Names of meta tags, the surest first. */
const META = {
  title: 'og:title twitter:title citation_title dc.title dcterms.title',
  published:
    'article:published_time og:published_time citation_publication_date citation_date citation_online_date ' +
    'datepublished date dc.date dc.date.issued dcterms.created dcterms.issued dcterms.date parsely-pub-date ' +
    'sailthru.date publish-date publication_date publishdate pubdate',
  updated: 'article:modified_time og:updated_time datemodified last-modified dcterms.modified revised',
  author: 'author article:author dc.creator dcterms.creator parsely-author sailthru.author byl twitter:creator_name',
  language: 'content-language dc.language dcterms.language language og:locale',
};

/** Title, authors, dates and language from structured data, meta tags and, at last, the page's own elements. */
export function readMetadata(document: DomDocument, structuredData: readonly string[]): PageMetadata {
  const data = findArticle(structuredData);
  const meta = (names: string) => metaContents(document, names)[0] ?? '';
  const shown = (selector: string, names: readonly string[]) => attribute(document, selector, names);
  // Many documentation systems put a sign that links to the heading at its end.
  const heading = textOf(document.querySelector('h1')).replace(/\s?[#¶§🔗]$/u, '');
  const documentTitle = textOf(document.querySelector('title'));
  const title = meta(META.title) || documentTitle || heading || text(data?.headline) || text(data?.name);
  const author = authorsOf(document, data).join(', ');
  const published =
    text(data?.datePublished) ||
    meta(META.published) ||
    shown('[itemprop="datePublished"]', ['datetime', 'content']) ||
    shown('time[pubdate], time.published, time.entry-date, article time[datetime], time[datetime]', ['datetime']);
  const updated =
    text(data?.dateModified) ||
    meta(META.updated) ||
    shown('[itemprop="dateModified"]', ['datetime', 'content']) ||
    shown('time.updated', ['datetime']);
  const language = languageOf(document, data);
  return {
    title: shorten(cleanTitle(title, heading)),
    ...(author ? { author: shorten(author) } : {}),
    ...(published ? { published: shorten(published) } : {}),
    ...(updated && updated !== published ? { updated: shorten(updated) } : {}),
    ...(language ? { language } : {}),
  };
}

/** Whether the page says that it is an article, and the text that its structured data repeats. */
export function aboutArticle(
  document: DomDocument,
  structuredData: readonly string[],
): { isArticle: boolean; articleBody: string } {
  const nodes = nodesOf(structuredData).filter((node) => PROSE_TYPE.test(typeOf(node)));
  const body = nodes.map((node) => text(node.articleBody)).find((each) => each.length > 0) ?? '';
  const isArticle = nodes.length > 0 || metaContents(document, 'og:type').some((type) => /article|blog/i.test(type));
  return { isArticle, articleBody: body.slice(0, 100_000) };
}

/** `Heading | Site` becomes `Heading` if the page's own heading says so. */
function cleanTitle(title: string, heading: string): string {
  return heading.length > 3 && title.startsWith(heading) ? heading : title;
}

function authorsOf(document: DomDocument, data: Record<string, unknown> | undefined): string[] {
  const named = authorNames(data?.author);
  if (named.length > 0) return named;
  const inMeta = metaContents(document, 'citation_author');
  if (inMeta.length > 0) return unique(inMeta);
  const [one] = metaContents(document, META.author);
  if (one) return [withoutBy(one)];
  const element = document.querySelector(
    '[rel="author"], [itemprop="author"] [itemprop="name"], [itemprop="author"], .byline-name, .byline, .author-name, .author',
  );
  const shown = withoutBy(textOf(element));
  return shown !== '' && shown.length < 120 ? [shown] : [];
}

function withoutBy(name: string): string {
  return name.replace(/^(by|von|par|por|di|door|af|av)\s/i, '').trim();
}

function languageOf(document: DomDocument, data: Record<string, unknown> | undefined): string {
  const given =
    document.documentElement.getAttribute('lang') ||
    document.documentElement.getAttribute('xml:lang') ||
    text(data?.inLanguage) ||
    metaContents(document, META.language)[0] ||
    '';
  const tag = given.trim().replaceAll('_', '-');
  return /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i.test(tag) ? tag : '';
}

/** The contents of meta tags with one of these names, in the order of the names. */
function metaContents(document: DomDocument, listed: string): string[] {
  const names = listed.split(' ');
  const found = names.map((): string[] => []);
  for (const meta of document.querySelectorAll('meta')) {
    const content = meta.getAttribute('content')?.trim() ?? '';
    // Facebook wants a profile's address in `article:author`; that is no name.
    if (content === '' || content.startsWith('http')) continue;
    for (const kind of ['property', 'name', 'itemprop', 'http-equiv']) {
      const at = names.indexOf((meta.getAttribute(kind) ?? '').toLowerCase());
      if (at >= 0) found[at]?.push(content);
    }
  }
  return found.flat();
}

function nodesOf(structuredData: readonly string[]): Record<string, unknown>[] {
  const nodes: Record<string, unknown>[] = [];
  const add = (value: unknown, depth: number): void => {
    if (nodes.length >= MAX_NODES || depth > 4) return;
    if (Array.isArray(value)) for (const one of value.slice(0, MAX_NODES)) add(one, depth + 1);
    else if (isObject(value)) {
      nodes.push(value);
      add(value['@graph'], depth + 1);
      add(value.mainEntity, depth + 1);
      add(value.mainEntityOfPage, depth + 1);
    }
  };
  for (const data of structuredData) add(parseJson(data.trim()), 0);
  return nodes;
}

function findArticle(structuredData: readonly string[]): Record<string, unknown> | undefined {
  const nodes = nodesOf(structuredData).filter((node) => node.author || node.datePublished);
  return nodes.find((node) => PROSE_TYPE.test(typeOf(node))) ?? nodes.find((node) => ARTICLE_TYPE.test(typeOf(node)));
}

function typeOf(node: Record<string, unknown>): string {
  const type = node['@type'];
  return Array.isArray(type) ? type.slice(0, 5).map(String).join(' ') : String(type ?? '');
}

function authorNames(author: unknown): string[] {
  if (Array.isArray(author)) return unique(author.slice(0, MAX_AUTHORS).flatMap(authorNames)).slice(0, MAX_AUTHORS);
  const name = (isObject(author) ? text(author.name) : text(author)).replace(/\s+/g, ' ');
  return name === '' || name.startsWith('http') ? [] : [withoutBy(name)];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].slice(0, MAX_AUTHORS);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function textOf(element: { textContent: string } | null): string {
  return element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
}

function attribute(document: DomDocument, selector: string, names: readonly string[]): string {
  const element = document.querySelector(selector);
  return names.map((name) => element?.getAttribute(name)?.trim() ?? '').find((value) => value !== '') ?? '';
}

function shorten(value: string): string {
  return value.length > 300 ? `${value.slice(0, 299)}…` : value;
}
