import { decodeEntities } from '../../../text/entities.ts';
import { HtmlScanner } from '../../../text/html-scanner.ts';

/** A piece of XML: an element that opens or closes, or text. Names are in lower case, with their prefix. */
export type XmlEvent =
  | { kind: 'open'; name: string; attribute(name: string): string }
  | { kind: 'close'; name: string }
  | { kind: 'text'; text: string };

/**
 * XML as a stream of events, without a tree: depth costs nothing. Entities that a document defines for itself are not
 * expanded, and nothing is fetched.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent> {
  const scanner = new HtmlScanner(xml);
  for (let part = scanner.next(); part; part = scanner.next()) {
    if (part.kind === 'text') {
      yield { kind: 'text', text: decodeEntities(part.text) };
      continue;
    }
    const { name, closing, start, end } = part;
    if (closing) {
      yield { kind: 'close', name };
      continue;
    }
    const tag = xml.slice(start, Math.min(end, start + 4000));
    yield { kind: 'open', name, attribute: (wanted) => attributeOf(tag, wanted) };
    if (tag.endsWith('/>')) yield { kind: 'close', name };
  }
}

/** The text of the first element with this name; empty if there is none. */
export function textOfElement(xml: string, wanted: string): string {
  let depth = 0;
  let text = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += depth > 0 ? event.text : '';
    else if (event.name !== wanted) continue;
    else if (event.kind === 'open') depth += 1;
    else return text.trim();
  }
  return '';
}

function attributeOf(tag: string, name: string): string {
  for (let at = tag.indexOf(name); at >= 0; at = tag.indexOf(name, at + 1)) {
    const quote = tag[at + name.length + 1] ?? '';
    const isThis = /\s/.test(tag[at - 1] ?? '') && tag[at + name.length] === '=' && (quote === '"' || quote === "'");
    if (!isThis) continue;
    const start = at + name.length + 2;
    const end = tag.indexOf(quote, start);
    return end < 0 ? '' : decodeEntities(tag.slice(start, end));
  }
  return '';
}
