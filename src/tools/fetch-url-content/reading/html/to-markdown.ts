import TurndownService from 'turndown';
import { highlightedCodeBlock, strikethrough, taskListItems } from 'turndown-plugin-gfm';
import { trimBlankEdges, trimLines } from '../../../text/trim-lines.ts';
import { FORMULA } from '../math/math.ts';
import { type DomDocument, type DomElement, isElement } from './dom.ts';
import { convertTables, FINISHED } from './html-tables.ts';

/** The Markdown of a cleaned element: headings, lists, code, links with full addresses (relative to `url`), tables. */
export function toMarkdown(root: DomElement, about: { document: DomDocument; url: string }): string {
  simplifyLinks(root, about.url);
  convertTables(root, about.document);
  const markdown = createConverter().turndown(root.innerHTML === '' ? '' : asNode(root));
  return trimLines(markdown);
}

/** Turndown takes nodes of any DOM; its types only know the browser's. */
function asNode(root: DomElement): TurndownService.Node {
  const node: unknown = root;
  if (!isTurndownNode(node)) throw new Error('not a node');
  return node;
}

function isTurndownNode(node: unknown): node is TurndownService.Node {
  return typeof node === 'object' && node !== null && 'cloneNode' in node;
}

function createConverter(): TurndownService {
  const converter = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
    hr: '---',
  });
  converter.use([highlightedCodeBlock, strikethrough, taskListItems]);
  // What is read is quoted and compared: `snake_case`, `[0, 1)` and `2 * 3` stay as they are.
  converter.escape = (text: string) => text;
  converter.addRule('finished', {
    filter: (node) => node.nodeName === 'PRE' && node.hasAttribute(FINISHED),
    replacement: (_content, node) => `\n\n${node.textContent ?? ''}\n\n`,
  });
  converter.addRule('code', {
    filter: (node) => node.nodeName === 'PRE' && !node.hasAttribute(FINISHED),
    replacement: (_content, node) => codeBlock(String(node.textContent), languageOf(node)),
  });
  converter.addRule('formula', {
    filter: (node) => node.nodeName === 'CODE' && node.hasAttribute(FORMULA),
    replacement: (_content, node) => formula(String(node.textContent)),
  });
  converter.addRule('item', { filter: 'li', replacement: (content, node) => listItem(content, node) });
  converter.addRule('link', {
    filter: (node) => node.nodeName === 'A' && node.hasAttribute('href'),
    replacement: (content, node) => link(content, attributeOf(node, 'href')),
  });
  converter.addRule('term', { filter: ['dt'], replacement: (content) => `\n\n**${content.trim()}**\n` });
  converter.addRule('details', { filter: ['dd'], replacement: (content) => `\n${content.trim()}\n` });
  return converter;
}

/** Formulas of their own lines stand on one. */
function formula(text: string): string {
  return text.startsWith('$$') ? `\n\n${text}\n\n` : text;
}

/** Addresses stay as they are: what is copied from here must be the address that was seen. */
function link(content: string, href: string): string {
  const text = content.replace(/\s+/g, ' ').trim();
  if (text === '') return '';
  const isSafe = !/[\s<>]/.test(href) && href.split('(').length === href.split(')').length;
  return `[${text}](${isSafe ? href : `<${href.replaceAll(' ', '%20')}>`})`;
}

function listItem(content: string, node: { parentNode?: unknown; nextSibling?: unknown }): string {
  const list = node.parentNode;
  const isOrdered = isNode(list) && list.nodeName === 'OL';
  const items = isOrdered ? [...list.children].filter(({ nodeName }) => nodeName === 'LI') : [];
  const start = isOrdered ? Number.parseInt(attributeOf(list, 'start') || '1', 10) : 0;
  const marker = isOrdered ? `${start + items.findIndex((item) => Object.is(item, node))}. ` : '- ';
  const text = content.trim().replace(/\n/g, `\n${' '.repeat(marker.length)}`);
  return text === '' ? '' : `${marker}${text}\n`;
}

function attributeOf(node: unknown, name: string): string {
  return isNode(node) ? (node.getAttribute(name) ?? '') : '';
}

/** Turndown says nothing of the kind of node that it passes; here they are ours. */
function isNode(node: unknown): node is DomElement {
  return typeof node === 'object' && node !== null && 'getAttribute' in node;
}

/** A fence longer than any in the code. */
function codeBlock(code: string, language: string): string {
  const longest = [...code.matchAll(/^`{3,}/gm)].reduce((length, [run]) => Math.max(length, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `\n\n${fence}${language}\n${trimBlankEdges(code)}\n${fence}\n\n`;
}

function languageOf(node: {
  getAttribute?: unknown;
  className?: unknown;
  firstElementChild?: unknown;
  parentElement?: unknown;
}): string {
  for (const element of [node.firstElementChild, node, node.parentElement]) {
    const names =
      typeof element === 'object' && element !== null && 'className' in element ? String(element.className) : '';
    const language = /(?:^|\s)(?:language|lang|highlight|brush:)-?\s*(?:source-)?([\w+#-]{1,20})/.exec(names)?.[1];
    if (language && language !== 'highlight') return language;
  }
  return '';
}

/** Full addresses for links; those that lead nowhere else keep only their text. Images keep their description. */
function simplifyLinks(root: DomElement, base: string): void {
  for (const link of [...root.querySelectorAll('a')]) {
    const href = link.getAttribute('href')?.trim() ?? '';
    const target = href === '' || href.startsWith('#') ? null : URL.parse(href, base);
    const leads = target !== null && /^(https?|mailto|ftp|corpus):$/.test(target.protocol);
    const text = link.textContent.trim();
    if (link.querySelector('h1, h2, h3, h4, h5, h6')) unwrap(link);
    else if (/^[#¶§🔗]?$/u.test(text) && !link.querySelector('img')) link.remove();
    else if (leads) {
      link.setAttribute('href', target.href);
      link.removeAttribute('title');
    } else unwrap(link);
  }
  for (const image of [...root.querySelectorAll('img')]) {
    const alt = (image.getAttribute('alt') ?? '').replace(/[[\]\s]+/g, ' ').trim();
    const source = URL.parse(image.getAttribute('src') ?? image.getAttribute('data-src') ?? '', base);
    if (alt === '' || !source || !/^https?:$/.test(source.protocol)) image.replaceWith(alt);
    else {
      image.setAttribute('src', source.href);
      image.setAttribute('alt', alt);
      image.removeAttribute('title');
    }
  }
}

function unwrap(element: DomElement): void {
  element.replaceWith(...[...element.childNodes].filter((node) => isElement(node) || node.nodeType === 3));
}
