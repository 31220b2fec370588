import { decodeXML } from 'entities';

/** The XML of S3 responses: elements have no attributes, and none contains an element of its own name. */

/** The content of each element of a name. */
export function* elementsIn(xml: string, name: string): Iterable<string> {
  const [start, end] = [`<${name}>`, `</${name}>`];
  for (let from = 0; ; ) {
    const at = xml.indexOf(start, from);
    const until = at < 0 ? -1 : xml.indexOf(end, at);
    if (until < 0) return;
    yield xml.slice(at + start.length, until);
    from = until + end.length;
  }
}

/** The text of the first element of a name; undefined if there is none, or it is empty. */
export function elementText(xml: string, name: string): string | undefined {
  for (const inner of elementsIn(xml, name)) return decodeXML(inner) || undefined;
  return undefined;
}

export function element(name: string, text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<${name}>${escaped}</${name}>`;
}
