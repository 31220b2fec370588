import { escapeMarkup } from '../../../../base/text.ts';
import { stripMarkup } from '../../../text/strip-markup.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { elementsBelow, findElement, type HtmlElement, lineOf, parseXml, textOf } from '../html/tree.ts';
import { escapeLinks, fullAddress, linkTo } from '../markdown/inline.ts';

/** No further entry is read once those before are longer, in UTF-16 code units. */
const MAX_FEED_LENGTH = 1_000_000;

/**
 * Reads an RSS, RDF or Atom feed as a list of entries; undefined for other XML. `parseFeed` of htmlparser2 is
 * no substitute: it drops authors and `content:encoded`.
 */
export function readFeed(xml: string, url: string): ParsedDocument | undefined {
  if (!/<(rss|feed|rdf:RDF)[\s>]/.test(xml.slice(0, 4000))) return undefined;
  const root = parseXml(xml);
  if (!root) return undefined;
  const entries = elementsBelow(root).filter(({ name }) => name === 'item' || name === 'entry');
  const channel = findElement(root, ({ name }) => name === 'channel') ?? root.elements[0];
  const title = childText(channel, ['title']);
  const texts: string[] = [];
  let length = 0;
  for (const entry of entries) {
    if (length > MAX_FEED_LENGTH) break;
    const text = formatEntry(entry, url);
    texts.push(text);
    length += text.length;
  }
  const content = [title && `# ${title}`, ...texts].filter(Boolean).join('\n\n');
  if (texts.length === entries.length) return { title, content };
  return { title, content, incomplete: `only ${texts.length} of its ${entries.length} entries were read` };
}

function formatEntry(entry: HtmlElement, base: string): string {
  const title = childText(entry, ['title']) || 'Untitled';
  const address = fullAddress(linkOf(entry), base);
  const date = childText(entry, ['pubdate', 'published', 'updated', 'dc:date']);
  const author = childText(entry, ['dc:creator']) || authorOf(entry);
  const heading = `## ${address ? linkTo(escapeLinks(title), address) : title}`;
  return [heading, [date, author].filter(Boolean).join(' · '), entryText(entry, address || base)]
    .filter(Boolean)
    .join('\n\n');
}

/** The full text of an entry, else its summary, as Markdown. Its headings are moved below the entry's own. */
function entryText(entry: HtmlElement, base: string): string {
  const [fullText] = ['content:encoded', 'content', 'description', 'summary'].flatMap((name) => {
    const found = entry.elements.find((child) => child.name === name);
    return found && textOf(found).trim() !== '' ? found : [];
  });
  if (!fullText) return '';
  const markup = fullText.elements.length > 0 ? markupOf(fullText) : textOf(fullText);
  const text = /<\w/.test(markup) ? readWhole(markup, base) : stripMarkup(markup);
  return text.replace(/^#{1,4} /gm, '##$&');
}

/** Serialises markup that Atom holds as elements. */
function markupOf({ children }: HtmlElement): string {
  return children
    .map((child) => {
      if (typeof child === 'string') return escapeMarkup(child);
      const { href } = child.attributes;
      const target = href === undefined ? '' : ` href="${escapeMarkup(href)}"`;
      return `<${child.name}${target}>${markupOf(child)}</${child.name}>`;
    })
    .join('');
}

function linkOf(entry: HtmlElement): string {
  const links = entry.elements.filter(({ name }) => name === 'link');
  const atom = links.find(({ attributes }) => (attributes.rel ?? 'alternate') === 'alternate' && attributes.href);
  const named = atom?.attribute('href') || childText(entry, ['link']);
  // Many ids are no addresses.
  return named || ['guid', 'id'].map((name) => childText(entry, [name])).find((id) => /^https?:/.test(id)) || '';
}

/** The author of an entry: in Atom a name beside an address. */
function authorOf(entry: HtmlElement): string {
  const author = entry.elements.find(({ name }) => name === 'author');
  return childText(author, ['name']) || stripMarkup(lineOf(author));
}

/** The first non-empty text of a child with one of these names. */
function childText(parent: HtmlElement | undefined, names: readonly string[]): string {
  for (const name of names) {
    const text = stripMarkup(lineOf(parent?.elements.find((child) => child.name === name)));
    if (text !== '') return text;
  }
  return '';
}
