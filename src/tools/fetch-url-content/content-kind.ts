import { ToolError } from '../tool.ts';
import type { ContentKind, OfficeKind } from './parsing/parse-job.ts';
import { decodeText, unmarkedUtf16 } from './reading/plain/charset.ts';

/** The kind of a body, and the charset that its server named. */
export interface ContentDescription {
  kind: ContentKind;
  charset: string | undefined;
}

const KINDS: readonly [type: RegExp, kind: ContentKind][] = [
  [/^(text\/html|application\/xhtml\+xml)$/, 'html'],
  [/^application\/(x-)?pdf$/, 'pdf'],
  [/^text\/(x-)?(markdown|md)$/, 'markdown'],
  [/^(application|text)\/(x-)?rtf$|^application\/rtf$/, 'rtf'],
  [/^(text\/csv|text\/tab-separated-values|application\/csv)$/, 'csv'],
  [/^(application|text)\/([\w.-]+\+)?json(l|-seq)?$|^application\/(x-)?ndjson$/, 'json'],
  [/^(application|text)\/([\w.-]+\+)?xml$/, 'xml'],
  [/^text\/|^application\/(x-)?(javascript|ecmascript|typescript|yaml|toml|sh|tex|latex|sql|subrip)$/, 'text'],
];

/** First bytes of formats that are not text, whatever the server calls them. */
const SIGNATURES: readonly [name: string, bytes: readonly number[]][] = [
  ['an empty ZIP archive', [0x50, 0x4b, 0x05, 0x06]],
  ['a gzip archive', [0x1f, 0x8b]],
  ['a bzip2 archive', [0x42, 0x5a, 0x68]],
  ['an xz archive', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['a zstd archive', [0x28, 0xb5, 0x2f, 0xfd]],
  ['a 7z archive', [0x37, 0x7a, 0xbc, 0xaf]],
  ['a RAR archive', [0x52, 0x61, 0x72, 0x21]],
  ['an image', [0x89, 0x50, 0x4e, 0x47]],
  ['an image', [0xff, 0xd8, 0xff]],
  ['an image', [0x47, 0x49, 0x46, 0x38]],
  ['a program', [0x7f, 0x45, 0x4c, 0x46]],
];
/** Compound files: old Office documents, Outlook messages and encrypted new Office documents. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0];

/** How much of a content type is read, in characters: an untrusted server sent it. */
const MAX_TYPE_LENGTH = 300;

const PDF = [0x25, 0x50, 0x44, 0x46, 0x2d];

/**
 * Decides what to read a body as: by its first bytes if they leave no doubt, else by the content type, else by the text.
 * @throws ToolError `unsupported_content` for archives, images and other binary data, and for encrypted or old Office
 *   documents.
 */
export function describeContent(bytes: Uint8Array, contentType: string | null): ContentDescription {
  const header = (contentType ?? '').slice(0, MAX_TYPE_LENGTH);
  const type = header.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(header)?.[1];
  if (startsWith(bytes, PDF) || isOffsetPdf(bytes, type)) return { kind: 'pdf', charset };
  const office = officeKindOf(bytes);
  if (office) return { kind: office, charset };
  if (startsWith(bytes, COMPOUND)) throw unsupported(...describeCompound(bytes));
  if (startsWith(bytes, ZIP)) throw unsupported(...describeZip(bytes));
  const known = SIGNATURES.find(([, signature]) => startsWith(bytes, signature));
  if (known) throw unsupported(known[0]);
  const named = KINDS.find(([pattern]) => pattern.test(type))?.[1];
  // Text can be read under any other type: some servers send TypeScript as `video/mp2t`.
  const isForeign = !named && !isUnspecific(type);
  if (isBinary(bytes) || (isForeign && /^(image|font)\//.test(type))) {
    throw unsupported(isForeign ? `something of type ${type.slice(0, 80)}` : 'binary data');
  }
  if (named === 'pdf' || named === 'rtf') return { kind: 'text', charset };
  return { kind: named && named !== 'text' ? named : guessKind(bytes, named), charset };
}

function isUnspecific(type: string): boolean {
  return type === '' || /octet-stream|^binary\/|^application\/(unknown|x-download|force-download)/.test(type);
}

const RTF = [0x7b, 0x5c, 0x72, 0x74, 0x66];
const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** Starts the end-of-central-directory record of a ZIP file, which begins at most `MAX_ZIP_TAIL` bytes before its end. */
const ZIP_END = 'PK\x05\x06';
const MAX_ZIP_TAIL = 22 + 65_536;
/** How much of the central directory is read, in bytes: about 20 000 entries. */
const MAX_DIRECTORY = 2 * 1024 * 1024;

/** The main part of a document under its usual name. Some programs number it or put it into another folder. */
const MAIN_PARTS: readonly { kind: OfficeKind; usual: RegExp; other: RegExp }[] = [
  { kind: 'docx', usual: /word[/\\]document\.xml/, other: /\Wdocument\d{0,3}\.xml/ },
  { kind: 'pptx', usual: /ppt[/\\]presentation\.xml/, other: /\Wpresentation\d{0,3}\.xml/ },
  { kind: 'xlsx', usual: /xl[/\\]workbook\.xml/, other: /\Wworkbook\d{0,3}\.xml/ },
];

/** The kind of a document that is rich text or a ZIP container; undefined for everything else. */
function officeKindOf(bytes: Uint8Array): OfficeKind | undefined {
  if (startsWith(bytes, RTF)) return 'rtf';
  if (!startsWith(bytes, ZIP)) return undefined;
  const head = latin1(bytes.subarray(0, 200));
  if (head.includes('mimetypeapplication/epub+zip')) return 'epub';
  if (head.includes('mimetypeapplication/vnd.oasis.opendocument.')) return 'odf';
  const names = zipDirectory(bytes);
  const isPackage = names.includes('[Content_Types].xml');
  const main = MAIN_PARTS.find(({ usual, other }) => usual.test(names) || (isPackage && other.test(names)));
  if (main) return main.kind;
  // EPUB and ODF should begin with their uncompressed `mimetype`; not every program writes it so.
  if (names.includes('META-INF/container.xml')) return 'epub';
  return names.includes('META-INF/manifest.xml') && names.includes('content.xml') ? 'odf' : undefined;
}

/** The central directory of a ZIP file; the file's last bytes if its place cannot be found. */
function zipDirectory(bytes: Uint8Array): string {
  const tail = bytes.subarray(Math.max(0, bytes.length - MAX_ZIP_TAIL));
  const end = latin1(tail).lastIndexOf(ZIP_END);
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  const start = end >= 0 && end + 20 <= tail.length ? view.getUint32(end + 16, true) : bytes.length;
  const directory = start < bytes.length ? bytes.subarray(start, start + MAX_DIRECTORY) : bytes.subarray(-64 * 1024);
  return latin1(directory);
}

/** Says what a ZIP file that cannot be read is, and what to send instead. */
function describeZip(bytes: Uint8Array): [what: string, advice?: string] {
  const names = zipDirectory(bytes);
  if (/\.iwa|buildVersionHistory\.plist|index\.apxl/.test(names)) {
    return ['a document of Pages, Numbers or Keynote', 'Save it as PDF.'];
  }
  return names.includes('workbook.bin') ? ['a binary workbook', 'Save it as xlsx.'] : ['a ZIP archive'];
}

function describeCompound(bytes: Uint8Array): [what: string, advice?: string] {
  const hasStream = (name: string) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(name, 0, 'utf16le');
  if (hasStream('EncryptedPackage')) return ['an Office document that is encrypted with a password'];
  if (hasStream('__substg1.0_')) return ['a message of Outlook', 'Save it as text.'];
  return ['an Office file of an old version', 'Save it as docx, xlsx or pptx.'];
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes);
}

/** Some PDFs begin with a few other bytes; the format allows 1024. A text may mention the signature, too. */
function isOffsetPdf(bytes: Uint8Array, type: string): boolean {
  return (type.endsWith('pdf') || isBinary(bytes)) && latin1(bytes.subarray(0, 1024)).includes('%PDF-');
}

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

/** Whether bytes contain NULs outside of UTF-16, or many control characters. */
function isBinary(bytes: Uint8Array): boolean {
  const hasBom = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (hasBom || unmarkedUtf16(bytes)) return false;
  const head = bytes.subarray(0, 4096);
  const score = head.reduce((sum, byte) => sum + (byte === 0 ? 10 : byte < 9 || (byte > 13 && byte < 27) ? 1 : 0), 0);
  return score > head.length / 20;
}

/** A named type is believed: HTML sent as `text/plain` is meant to be shown as source. */
function guessKind(bytes: Uint8Array, named: ContentKind | undefined): ContentKind {
  if (named) return named;
  const head = decodeText(bytes.subarray(0, 1024)).trimStart();
  if (/^<(!doctype html|html|head|body|title|meta|link|script|style|div|p|h[1-6]|br|table|!--)/i.test(head))
    return 'html';
  if (/^<\?xml|^<(rss|feed)/i.test(head)) return 'xml';
  return /^[[{]/.test(head) ? 'json' : 'text';
}

function unsupported(what: string, advice = ''): ToolError {
  return new ToolError('unsupported_content', `It is ${what}, which cannot be read as text. ${advice}`.trim());
}
