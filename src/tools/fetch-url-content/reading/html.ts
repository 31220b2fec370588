import { Readability } from '@mozilla/readability';
import { htmlToText } from '../../text/html-text.ts';
import type { ParsedDocument } from '../parsing/parse-job.ts';
import { cleanPage, textLength } from './clean-page.ts';
import { type DomDocument, type DomElement, parseHtmlDocument } from './dom.ts';
import { readMetadata } from './page-metadata.ts';
import { prepareHtml } from './prepare-html.ts';
import { toMarkdown } from './to-markdown.ts';

/** Beyond these, trees take longer than they are worth, and the page is read as plain text. */
const MAX_TAGS = 150_000;
const MAX_DEPTH = 400;
const MAX_LENGTH = 5_000_000;
/** Readability's time grows faster than the page. */
const MAX_TAGS_FOR_READABILITY = 15_000;

/** Contributions to a thread: their authors belong to the text, and Readability drops them. */
const POSTS = ['post', 'comment', 'message', 'reply', 'answer'].map((name) => `.${name}`).join(', ');

/** The main text of a page as Markdown, with its title, author and date. */
export function readHtml(html: string, url: string): ParsedDocument {
  const prepared = prepareHtml(html);
  if (prepared.tags > MAX_TAGS || prepared.depth > MAX_DEPTH || prepared.html.length > MAX_LENGTH) return plain(html);
  try {
    const document = parseHtmlDocument(prepared.html);
    const metadata = readMetadata(document, prepared.structuredData);
    const cleaned = cleanPage(document);
    const article = prepared.tags > MAX_TAGS_FOR_READABILITY ? undefined : readArticle(cleaned);
    const chosen =
      article && isComplete(article.body, cleaned)
        ? { document: article, root: article.body }
        : { document, root: cleaned };
    const content = toMarkdown(chosen.root, { document: chosen.document, url: baseUrl(document, url) });
    return content === '' ? plain(html) : { ...metadata, content };
  } catch (error) {
    // Deep recursion in one of the libraries.
    if (error instanceof RangeError) return plain(html);
    throw error;
  }
}

function plain(html: string): ParsedDocument {
  const page = htmlToText(html);
  return { title: page.title, content: page.text };
}

function baseUrl(document: DomDocument, url: string): string {
  const base = document.querySelector('base[href]')?.getAttribute('href');
  return (base && URL.parse(base, url)?.href) || url;
}

/** The article that Readability finds in the cleaned page. It takes its copy apart, hence the second tree. */
function readArticle(cleaned: DomElement): DomDocument | undefined {
  const copy = parseHtmlDocument(wrap(cleaned.innerHTML));
  const found = new Readability(copy, { charThreshold: 200, keepClasses: true }).parse();
  return found?.content ? parseHtmlDocument(wrap(found.content)) : undefined;
}

function wrap(body: string): string {
  return `<!doctype html><html><head></head><body>${body}</body></html>`;
}

/**
 * Whether Readability's article is the whole text. It is better than we are at leaving out what does not belong, but
 * takes one post for a whole thread, and drops tables and code it takes for layout.
 */
function isComplete(article: DomElement, cleaned: DomElement): boolean {
  if (cleaned.querySelectorAll(POSTS).length >= 3) return false;
  const keeps = (selector: string, share: number) =>
    article.querySelectorAll(selector).length >= cleaned.querySelectorAll(selector).length * share;
  return (
    textLength(article) >= textLength(cleaned) * 0.7 &&
    keeps('table', 1) &&
    keeps('pre', 1) &&
    keeps('h2, h3', 0.7) &&
    keeps('li', 0.6)
  );
}
