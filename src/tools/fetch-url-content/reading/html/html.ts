import { htmlToText } from '../../../text/html-text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { markMainText } from '../main-text/main-text.ts';
import { toMarkdown } from '../markdown/markdown.ts';
import { convertFormulas } from '../math/math.ts';
import { measureBlocks } from './blocks.ts';
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
  return content === '' ? plainText(html) : { ...description.metadata, content };
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
