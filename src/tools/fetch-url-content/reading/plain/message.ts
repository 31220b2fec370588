import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { readHtml, readWhole } from '../html/html.ts';
import { decodeText } from './charset.ts';

/** How deep parts are nested, and how many are read. */
const MAX_DEPTH = 10;
const MAX_PARTS = 10_000;
/** How much of the header of a message or a part is read, in characters. */
const MAX_HEADER = 64 * 1024;

interface Part {
  headers: ReadonlyMap<string, string>;
  /** One character for each byte. */
  body: string;
}

/** Whether a text begins as an e-mail or a page that a browser saved in one file (RFC 5322, RFC 2557). */
export function isMessage(text: string): boolean {
  if (!/^(?:[\w-]{1,80}:[^\n]*\r?\n(?:[ \t][^\n]*\n)*){2}/.test(text.slice(0, 4000))) return false;
  const { headers } = partOf(text.slice(0, MAX_HEADER));
  return ['mime-version', 'message-id', 'received', 'return-path'].some((name) => headers.has(name));
}

/** Reads the text of a message, decoded (RFC 2045 to 2047), below who wrote it to whom and when, and the names of its attachments. */
export function readMessage(bytes: Uint8Array, url: string): ParsedDocument {
  const message = partOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'));
  const header = (name: string) => decodeWords(message.headers.get(name) ?? '');
  const address = message.headers.get('snapshot-content-location') ?? url;
  const texts = new MessageReader(address).texts(message, 0);
  const title = header('subject');
  if (message.headers.has('snapshot-content-location')) {
    const [page] = texts;
    return page ?? { title, content: '' };
  }
  const date = new Date(message.headers.get('date') ?? '');
  const lines = ['From', 'To', 'Cc', 'Date', 'Subject'].flatMap((name) => {
    const value = header(name.toLowerCase());
    return value === '' ? [] : `${name}: ${value}`;
  });
  return {
    title,
    author: header('from'),
    ...(Number.isNaN(date.getTime()) ? {} : { published: date.toISOString() }),
    content: [lines.join('\n'), ...texts.map(({ content }) => content.trim())].filter(Boolean).join('\n\n'),
  };
}

class MessageReader {
  readonly #url: string;
  #remaining = MAX_PARTS;

  constructor(url: string) {
    this.#url = url;
  }

  /** The texts of a part, in order. */
  texts(part: Part, depth: number): ParsedDocument[] {
    this.#remaining -= 1;
    if (this.#remaining < 0) return [];
    const { value: type, parameters } = parameterised(part.headers.get('content-type') ?? 'text/plain');
    const isMultipart = type.startsWith('multipart/');
    const parts = isMultipart && depth < MAX_DEPTH ? partsOf(part.body, parameters.get('boundary') ?? '') : [];
    if (parts.length > 0) return chosenParts(type, parts).flatMap((each) => this.texts(each, depth + 1));
    const disposition = parameterised(part.headers.get('content-disposition') ?? '');
    const name = decodeWords(disposition.parameters.get('filename') ?? parameters.get('name') ?? '');
    // Parts that cannot be told apart are one text.
    const isText = isMultipart || type === 'text/plain' || type === 'text/html';
    if (!isText || disposition.value === 'attachment') {
      return name === '' ? [] : [{ title: name, content: `Attachment: ${name}` }];
    }
    const text = decodeText(decodedBody(part), parameters.get('charset'));
    if (type !== 'text/html') return [{ title: '', content: text.replaceAll('\r\n', '\n') }];
    return [
      depth === 1 && /^https?:/.test(this.#url)
        ? readHtml(text, this.#url)
        : { title: '', content: readWhole(text, 'about:blank') },
    ];
  }
}

/** The parts that are read: of alternatives the one with the most structure, of related ones the first. */
function chosenParts(type: string, parts: readonly Part[]): readonly Part[] {
  if (type === 'multipart/related') return parts.slice(0, 1);
  if (type !== 'multipart/alternative') return parts;
  const isRich = ({ headers }: Part) =>
    /^\s*(?:text\/html|multipart\/related)/i.test(headers.get('content-type') ?? '');
  return [parts.find(isRich) ?? parts[0]].filter((part) => part !== undefined);
}

function partOf(source: string): Part {
  // A part may have no header.
  const end = /^\r?\n|\r?\n\r?\n/.exec(source);
  const head = source.slice(0, Math.min(end?.index ?? MAX_HEADER, MAX_HEADER)).replace(/\r?\n[ \t]+/g, ' ');
  const headers = new Map<string, string>();
  for (const line of head.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { headers, body: end ? source.slice(end.index + end[0].length) : '' };
}

function partsOf(body: string, boundary: string): Part[] {
  if (boundary === '') return [];
  const parts: Part[] = [];
  const lines = `\n${body}`.split(`\n--${boundary}`).slice(1, MAX_PARTS);
  for (const piece of lines) {
    if (piece.startsWith('--')) break;
    parts.push(partOf(piece.replace(/^[ \t]*\r?\n/, '').replace(/\r$/, '')));
  }
  return parts;
}

/** Splits a header such as `text/html; charset="utf-8"`. */
function parameterised(header: string): { value: string; parameters: ReadonlyMap<string, string> } {
  const value = header.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const found = header.matchAll(/;\s*([\w-]{1,40})\s*=\s*(?:"([^"]*)"|([^\s;]*))/g);
  return {
    value,
    parameters: new Map([...found].map(([, name = '', quoted, bare]) => [name.toLowerCase(), quoted ?? bare ?? ''])),
  };
}

function decodedBody({ headers, body }: Part): Uint8Array {
  const encoding = headers.get('content-transfer-encoding')?.trim().toLowerCase();
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  return Buffer.from(encoding === 'quoted-printable' ? unquote(body.replace(/=[ \t]*\r?\n/g, '')) : body, 'latin1');
}

function unquote(text: string): string {
  return text.replace(/=([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Decodes the words of a header that are not ASCII: `=?utf-8?q?Gr=C3=B6=C3=9Fe?=`, or bytes as they are. */
function decodeWords(header: string): string {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  if (!header.includes('=?')) return decodeText(bytes(header));
  return header
    .replace(/(\?=)\s+(?==\?)/g, '$1')
    .replace(
      /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?]*)\?=/gi,
      (_, charset: string, encoding: string, text: string) =>
        decodeText(
          /b/i.test(encoding) ? Buffer.from(text, 'base64') : bytes(unquote(text.replaceAll('_', ' '))),
          charset,
        ),
    );
}
