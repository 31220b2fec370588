import { Parser } from 'htmlparser2';

/**
 * The start or the end of an element, or text. Element names are in lower case, with the usual prefix of their namespace
 * (none for spreadsheets, relationships and the packages of e-books), whichever prefix the document uses.
 */
export type XmlEvent =
  | { kind: 'open'; name: string; attribute(name: string): string }
  | { kind: 'close'; name: string }
  | { kind: 'text'; text: string };

/** The parser's time for an element grows with its depth. */
const MAX_DEPTH = 1000;
/** How much is parsed before its events are yielded, in UTF-16 code units. */
const CHUNK = 64 * 1024;

const OOXML = /^http:\/\/(?:schemas\.openxmlformats\.org|purl\.oclc\.org\/ooxml)\/(\w+)(?:\/2006)?\/(\w+)$/;
const PREFIXES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'wordprocessingml/main': 'w',
    'drawingml/main': 'a',
    'drawingml/chart': 'c',
    'presentationml/main': 'p',
    'officeDocument/relationships': 'r',
    'officeDocument/math': 'm',
    'spreadsheetml/main': '',
    'package/relationships': '',
    'http://schemas.openxmlformats.org/markup-compatibility/2006': 'mc',
    'http://www.idpf.org/2007/opf': '',
    'urn:oasis:names:tc:opendocument:xmlns:container': '',
    'http://www.daisy.org/z3986/2005/ncx/': '',
    'http://www.w3.org/1999/xhtml': '',
  }),
);

/** The unusual prefixes of a document: from its own to the usual one, and back. */
interface Prefixes {
  usual: ReadonlyMap<string, string>;
  own: ReadonlyMap<string, string>;
}

/**
 * Parses XML into events, without a tree. It expands no entities that the document defines, and fetches nothing. The
 * fallbacks of `mc:AlternateContent`, alternatives for other versions of a program, are left out.
 * @throws Error if the document is nested too deeply.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent> {
  let events: XmlEvent[] = [];
  let fallbacks = 0;
  let prefixes: Prefixes | undefined;
  /** For each open element, the prefixes outside of it. */
  const outer: (Prefixes | undefined)[] = [];
  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        outer.push(prefixes);
        if (outer.length > MAX_DEPTH) throw new Error('the document is nested too deeply');
        prefixes = addDeclared(prefixes, attributes);
        const name = usualName(tag, prefixes);
        if (name === 'mc:fallback') fallbacks += 1;
        if (fallbacks > 0) return;
        const { own } = prefixes ?? {};
        const attribute = (wanted: string) => attributes[wanted] ?? (own && attributes[ownName(wanted, own)]) ?? '';
        events.push({ kind: 'open', name, attribute });
      },
      onclosetag(tag) {
        const name = usualName(tag, prefixes);
        prefixes = outer.pop();
        if (fallbacks === 0) events.push({ kind: 'close', name });
        else if (name === 'mc:fallback') fallbacks -= 1;
      },
      ontext(text) {
        if (fallbacks === 0) events.push({ kind: 'text', text });
      },
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

function usualPrefix(address: string): string | undefined {
  return PREFIXES.get(address) ?? PREFIXES.get((OOXML.exec(address) ?? []).slice(1).join('/'));
}

/** Adds the prefixes that an element declares; returns `known` itself if it declares nothing unusual. */
function addDeclared(known: Prefixes | undefined, attributes: Record<string, string>): Prefixes | undefined {
  let usual: Map<string, string> | undefined;
  for (const name in attributes) {
    if (!name.startsWith('xmlns') || (name.length > 5 && name[5] !== ':')) continue;
    const own = name.slice(6).toLowerCase();
    const wanted = usualPrefix(attributes[name] ?? '');
    if ((wanted ?? own) === (known?.usual.get(own) ?? own)) continue;
    usual ??= new Map(known?.usual);
    if (wanted === undefined || wanted === own) usual.delete(own);
    else usual.set(own, wanted);
  }
  if (!usual) return known;
  return usual.size === 0 ? undefined : { usual, own: new Map([...usual].map(([own, wanted]) => [wanted, own])) };
}

function usualName(tag: string, prefixes: Prefixes | undefined): string {
  if (!prefixes) return tag;
  const colon = tag.indexOf(':');
  const prefix = prefixes.usual.get(tag.slice(0, Math.max(0, colon)));
  if (prefix === undefined) return tag;
  const local = tag.slice(colon + 1);
  return prefix === '' ? local : `${prefix}:${local}`;
}

function ownName(wanted: string, own: ReadonlyMap<string, string>): string {
  const colon = wanted.indexOf(':');
  const prefix = colon < 0 ? undefined : own.get(wanted.slice(0, colon));
  return prefix === undefined ? wanted : `${prefix === '' ? '' : `${prefix}:`}${wanted.slice(colon + 1)}`;
}
