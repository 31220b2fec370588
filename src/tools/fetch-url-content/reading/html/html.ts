import { htmlToText } from '../../../text/html-text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { findMainText } from '../main-text/main-text.ts';
import { convertFormulas } from '../math/math.ts';
import { type DomDocument, type DomElement, parseHtmlDocument } from './dom.ts';
import { aboutArticle, readMetadata } from './page-metadata.ts';
import { prepareHtml } from './prepare-html.ts';
import { toMarkdown } from './to-markdown.ts';

/** The main text of a page as Markdown, with its title, author and date; of one that is too large, its plain text. */
export function readHtml(html: string, url: string): ParsedDocument {
  const prepared = prepareHtml(html);
  if (!prepared) return plain(html);
  try {
    const document = parseHtmlDocument(prepared.html);
    const metadata = readMetadata(document, prepared.structuredData);
    convertFormulas(document.body, document);
    dropReadings(document.body);
    const about = aboutArticle(document, prepared.structuredData);
    const found = findMainText(document, { tags: prepared.tags, title: metadata.title, ...about });
    const content = toMarkdown(found.root, { document: found.document, url: baseUrl(document, url) });
    return content === '' ? plain(html) : { ...metadata, content };
  } catch (error) {
    // Deep recursion in one of the libraries.
    if (error instanceof RangeError) return plain(html);
    throw error;
  }
}

/** Everything that a page or a chapter says, as Markdown: for documents that have nothing around their text. */
export function readWhole(html: string, url: string): string {
  const prepared = prepareHtml(html);
  if (!prepared) return htmlToText(html).text;
  const document = parseHtmlDocument(prepared.html);
  convertFormulas(document.body, document);
  dropReadings(document.body);
  return toMarkdown(document.body, { document, url: baseUrl(document, url) });
}

/** Over its characters a ruby text stands as they are read: between them it makes another text of them. */
function dropReadings(root: DomElement): void {
  for (const reading of [...root.querySelectorAll('ruby > rt, ruby > rp, ruby > rtc')]) reading.remove();
}

function plain(html: string): ParsedDocument {
  const page = htmlToText(html);
  return { title: page.title, content: page.text };
}

/** The address that relative links start from. */
function baseUrl(document: DomDocument, url: string): string {
  const base = document.querySelector('base[href]')?.getAttribute('href');
  return (base && URL.parse(base, url)?.href) || url;
}
