import { isObject, parseJson } from '../../../base/json.ts';
import type { DomDocument } from './dom.ts';

/** What a page says about itself. */
export interface PageMetadata {
  title: string;
  author?: string;
  published?: string;
}

const ARTICLE_TYPE = /Article|Posting|WebPage|Report|Recipe|Product|Book|Question|Dataset/i;

/** Title, author and date from structured data, meta tags and, at last, the page's own elements. */
export function readMetadata(document: DomDocument, structuredData: readonly string[]): PageMetadata {
  const data = findArticle(structuredData);
  const meta = (names: readonly string[]) => metaContent(document, names);
  // Many documentation systems put a sign that links to the heading at its end.
  const heading = textOf(document.querySelector('h1')).replace(/\s*[#¶§]$/, '');
  const documentTitle = textOf(document.querySelector('title'));
  const title = meta(['og:title', 'twitter:title', 'citation_title', 'dc.title']) || documentTitle || heading;
  const author =
    authorName(data?.author) ||
    meta(['author', 'citation_author', 'dc.creator', 'parsely-author', 'sailthru.author']) ||
    textOf(
      document.querySelector(
        '[rel="author"], [itemprop="author"] [itemprop="name"], [itemprop="author"], .byline, .author',
      ),
    );
  const published =
    text(data?.datePublished) ||
    meta(['article:published_time', 'date', 'dc.date', 'citation_publication_date', 'parsely-pub-date', 'pubdate']) ||
    attribute(
      document,
      'time[itemprop="datePublished"], time[pubdate], article time[datetime], time[datetime]',
      'datetime',
    );
  return {
    title: shorten(cleanTitle(title, heading)),
    ...(author ? { author: shorten(author.replace(/^by\s+/i, '')) } : {}),
    ...(published ? { published: shorten(published) } : {}),
  };
}

/** `Heading | Site` becomes `Heading` if the page's own heading says so. */
function cleanTitle(title: string, heading: string): string {
  return heading.length > 3 && title.startsWith(heading) ? heading : title;
}

function metaContent(document: DomDocument, names: readonly string[]): string {
  for (const name of names) {
    for (const meta of document.querySelectorAll('meta')) {
      const given = meta.getAttribute('property') ?? meta.getAttribute('name') ?? meta.getAttribute('itemprop') ?? '';
      const content = meta.getAttribute('content')?.trim() ?? '';
      // Facebook wants a profile's address in `article:author`; that is no name.
      if (given.toLowerCase() === name && content !== '' && !content.startsWith('http')) return content;
    }
  }
  return '';
}

function findArticle(structuredData: readonly string[]): Record<string, unknown> | undefined {
  const nodes = structuredData.flatMap((text): unknown[] => {
    const parsed = parseJson(text);
    const list = Array.isArray(parsed) ? parsed : [parsed];
    return list.flatMap((node) => (isObject(node) && Array.isArray(node['@graph']) ? node['@graph'] : [node]));
  });
  return nodes
    .filter(isObject)
    .find((node) => ARTICLE_TYPE.test(String(node['@type'] ?? '')) && (node.author || node.datePublished));
}

function authorName(author: unknown): string {
  if (Array.isArray(author)) return author.map(authorName).filter(Boolean).slice(0, 6).join(', ');
  return isObject(author) ? text(author.name) : text(author);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function textOf(element: { textContent: string } | null): string {
  return element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
}

function attribute(document: DomDocument, selector: string, name: string): string {
  return document.querySelector(selector)?.getAttribute(name)?.trim() ?? '';
}

function shorten(value: string): string {
  return value.length > 300 ? `${value.slice(0, 299)}…` : value;
}
