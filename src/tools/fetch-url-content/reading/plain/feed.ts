import { stripMarkup } from '../../../text/strip-markup.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { type DomElement, parseXmlDocument } from '../html/dom.ts';

const MAX_ENTRIES = 500;
const MAX_SUMMARY = 1500;

/**
 * An RSS, RDF or Atom feed as a list of entries; undefined if the XML is something else. `parseFeed` of htmlparser2 is
 * no substitute: it drops authors and `content:encoded`.
 */
export function readFeed(xml: string, url: string): ParsedDocument | undefined {
  if (!/<(rss|feed|rdf:RDF)[\s>]/.test(xml.slice(0, 4000))) return undefined;
  const document = parseXmlDocument(xml);
  const entries = [...document.querySelectorAll('item, entry')].slice(0, MAX_ENTRIES);
  const title = childText(document.querySelector('channel') ?? document.documentElement, ['title']);
  const lines = entries.map((entry) => formatEntry(entry, url));
  return { title, content: [title && `# ${title}`, ...lines].filter(Boolean).join('\n\n') };
}

function formatEntry(entry: DomElement, base: string): string {
  const title = childText(entry, ['title']) || 'Untitled';
  const link = linkOf(entry);
  const address = link ? (URL.parse(link, base)?.href ?? link) : '';
  const date = childText(entry, ['pubDate', 'published', 'updated', 'dc:date']);
  const author = childText(entry, ['dc:creator', 'author']);
  const summary = childText(entry, ['description', 'summary', 'content:encoded', 'content']).slice(0, MAX_SUMMARY);
  const heading = address ? `## [${title}](${address})` : `## ${title}`;
  return [heading, [date, author].filter(Boolean).join(' · '), summary].filter(Boolean).join('\n\n');
}

function linkOf(entry: DomElement): string {
  const links = [...entry.children].filter((child) => child.tagName.toLowerCase() === 'link');
  const atom = links.find(
    (link) => (link.getAttribute('rel') ?? 'alternate') === 'alternate' && link.hasAttribute('href'),
  );
  return atom?.getAttribute('href') ?? childText(entry, ['link', 'guid', 'id']);
}

/** The text of the first child with one of these names that has any. */
function childText(parent: DomElement | null, names: readonly string[]): string {
  for (const name of names) {
    const child = [...(parent?.children ?? [])].find((some) => some.tagName.toLowerCase() === name.toLowerCase());
    const text = stripMarkup((child?.textContent ?? '').replace(/^\s*<!\[CDATA\[|\]\]>\s*$/g, ''));
    if (text !== '') return text;
  }
  return '';
}
