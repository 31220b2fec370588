import { Parser } from 'htmlparser2';

/** A piece of XML: an element that opens or closes, or text. Names of elements are in lower case, with their prefix. */
export type XmlEvent =
  | { kind: 'open'; name: string; attribute(name: string): string }
  | { kind: 'close'; name: string }
  | { kind: 'text'; text: string };

/** The parser's time for an element grows with the number of those around it. */
const MAX_DEPTH = 1000;
/** What is parsed before its events are taken; in UTF-16 code units. */
const CHUNK = 64 * 1024;

/**
 * XML as a stream of events, without a tree. Entities that a document defines for itself are not expanded, and nothing
 * is fetched.
 * @throws Error for what is nested too deeply.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent> {
  let events: XmlEvent[] = [];
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        if (depth > MAX_DEPTH) throw new Error('the document is nested too deeply');
        events.push({ kind: 'open', name, attribute: (wanted) => attributes[wanted] ?? '' });
      },
      onclosetag(name) {
        depth -= 1;
        events.push({ kind: 'close', name });
      },
      ontext: (text) => events.push({ kind: 'text', text }),
    },
    { xmlMode: true, lowerCaseTags: true },
  );
  for (let at = 0; at < xml.length; at += CHUNK) {
    parser.write(xml.slice(at, at + CHUNK));
    yield* events;
    events = [];
  }
  parser.end();
  yield* events;
}

/** The text of the first element with this name, or nothing. */
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
