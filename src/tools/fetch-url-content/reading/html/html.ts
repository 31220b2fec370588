import { htmlToText } from '../../../text/html-text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { markMainText } from '../main-text/main-text.ts';
import { toMarkdown } from '../markdown/markdown.ts';
import { convertFormulas } from '../math/math.ts';
import { measure } from './blocks.ts';
import { readMetadata } from './page-metadata.ts';
import { nameTabPanels } from './tabs.ts';
import { type HtmlPage, parseHtml } from './tree.ts';

/** The main text of a page as Markdown, with its title, author and date; of one that is too large, its plain text. */
export function readHtml(html: string, url: string): ParsedDocument {
  const page = parseHtml(html);
  if (!page) return plain(html);
  convertFormulas(page.body);
  nameTabPanels(page.body);
  const blocks = measure(page.body);
  const metadata = readMetadata(page, blocks);
  const root = markMainText(page, blocks, metadata);
  const content = toMarkdown(root, baseUrl(page, url));
  return content === '' ? plain(html) : { ...metadata.shown, content };
}

/** Everything that a page or a chapter says, as Markdown: for documents that have nothing around their text. */
export function readWhole(html: string, url: string): string {
  const page = parseHtml(html);
  if (!page) return htmlToText(html).text;
  convertFormulas(page.body);
  nameTabPanels(page.body);
  measure(page.body);
  return toMarkdown(page.body, baseUrl(page, url));
}

function plain(html: string): ParsedDocument {
  const page = htmlToText(html);
  return { title: page.title, content: page.text };
}

/** The address that relative links start from. */
function baseUrl({ base }: HtmlPage, url: string): string {
  return (base && URL.parse(base, url)?.href) || url;
}
