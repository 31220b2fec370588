import { htmlToText } from '../../../text/html-text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { markMainText } from '../main-text/main-text.ts';
import { fullAddress, linkTo } from '../markdown/inline.ts';
import { toMarkdown } from '../markdown/markdown.ts';
import { convertFormulas } from '../math/math.ts';
import { measureBlocks } from './blocks.ts';
import { metaContents } from './meta-contents.ts';
import { readMetadata } from './page-metadata.ts';
import { nameTabPanels } from './tabs.ts';
import { type HtmlPage, parseHtml } from './tree.ts';

/** Reads the main text of a page as Markdown, with its title, author and date; a page that is too large as plain text. */
export function readHtml(html: string, url: string): ParsedDocument {
  const page = parseHtml(html);
  if (!page) return plainText(html);
  convertFormulas(page.body);
  nameTabPanels(page.body);
  const blocks = measureBlocks(page.body);
  const description = readMetadata(page, blocks, url);
  const root = markMainText(page, blocks, description);
  const content = toMarkdown(root, baseUrl(page, url));
  const target = content.length < MAX_NOTICE ? refreshTarget(page, url) : '';
  if (target !== '')
    return { ...description.metadata, content: `${content}\n\nThis page leads to ${linkTo(target, target)}`.trim() };
  return content === '' ? plainText(html) : { ...description.metadata, content };
}

/** The longest text of a page that only leads to another one, in UTF-16 code units. */
const MAX_NOTICE = 400;

/** The address to which a page sends its readers without a redirect of its server; empty if there is none. */
function refreshTarget(page: HtmlPage, url: string): string {
  const [refresh = ''] = metaContents(page, 'refresh');
  const target = /^[\d.]+\s*[;,]\s*(?:url\s*=\s*)?["']?([^"'\s]+)/i.exec(refresh)?.[1] ?? '';
  const address = target === '' ? '' : fullAddress(target, baseUrl(page, url));
  return address === url ? '' : address;
}

/** Reads all text of a page or chapter as Markdown: for documents that consist of their main text. */
export function readWhole(html: string, url: string): string {
  const page = parseHtml(html);
  if (!page) return htmlToText(html).text;
  convertFormulas(page.body);
  nameTabPanels(page.body);
  measureBlocks(page.body);
  return toMarkdown(page.body, baseUrl(page, url));
}

function plainText(html: string): ParsedDocument {
  const page = htmlToText(html);
  return { title: page.title, content: page.text };
}

/** The address that relative links are resolved against. */
function baseUrl({ base }: HtmlPage, url: string): string {
  return (base && URL.parse(base, url)?.href) || url;
}
