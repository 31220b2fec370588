/** How much of a body is searched for a declaration of its charset; browsers search 1024 bytes. */
const DECLARATION_BYTES = 4096;
/** How much of a body is sampled to guess its charset. */
const SAMPLE_BYTES = 64 * 1024;

/**
 * Decodes bytes. The charset is, in this order: a byte order mark, the one that the server named, the one the document
 * declares, UTF-8 if the bytes are valid, else the most plausible of the legacy charsets in use.
 */
export function decodeText(bytes: Uint8Array, serverCharset?: string): string {
  const certain = byteOrderMark(bytes) ?? unmarkedUtf16(bytes);
  if (certain) return decode(bytes, certain);
  const named = knownCharset(serverCharset);
  if (named && isPlausible(bytes, named)) return decode(bytes, named);
  const declared = knownCharset(declaredCharset(bytes));
  if (declared && isPlausible(bytes, declared)) return decode(bytes, declared);
  if (isValid(sample(bytes), 'utf-8')) return decode(bytes, 'utf-8');
  const said = named ?? declared;
  return decode(bytes, said === undefined || isGarbled(sample(bytes), said) ? guessCharset(sample(bytes)) : said);
}

/** Whether half of the characters beyond ASCII are none in the charset: many servers say `utf-8` of everything. */
function isGarbled(bytes: Uint8Array, charset: string): boolean {
  const foreign = decode(bytes, charset).match(/[^\p{ASCII}]/gu) ?? [];
  return foreign.filter((character) => character === '\ufffd').length > foreign.length / 2;
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** Recognises UTF-16 without a byte order mark: in western text every second byte is 0, and no other. */
export function unmarkedUtf16(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const head = bytes.subarray(0, Math.min(2000, bytes.length - (bytes.length % 2)));
  const zeros = [0, 0];
  for (let at = 0; at < head.length; at++) if (head[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (head.length < 8 || Math.min(even, odd) > 0 || Math.max(even, odd) < head.length * 0.35) return undefined;
  return odd > 0 ? 'utf-16le' : 'utf-16be';
}

/** The charset of `<meta charset>`, `<meta http-equiv>` or an XML declaration. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, DECLARATION_BYTES));
  const xml = /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]+)/i.exec(head)?.[1];
  const declared = xml ?? /<meta[^>]{1,200}charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1];
  // A declaration that is readable as ASCII cannot be in UTF-16 (HTML standard, prescan).
  return declared && /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

function knownCharset(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return undefined;
  }
}

/**
 * Whether bytes can be in a charset. Servers often send a default `utf-8` or `iso-8859-1` for bytes that are neither, and
 * a page that was saved as UTF-8 still declares what it was in.
 */
function isPlausible(bytes: Uint8Array, charset: string): boolean {
  if (charset === 'utf-8') return isValid(sample(bytes), 'utf-8');
  if (charset === 'windows-1252' && declaredCharset(bytes) !== undefined) return false;
  return !isMultibyteUtf8(sample(bytes));
}

function isMultibyteUtf8(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte > 0x7f) && isValid(bytes, 'utf-8');
}

/** The bytes from the first one beyond ASCII on, cut where no UTF-8 sequence is split: a page may begin with long scripts. */
function sample(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && (bytes[start] ?? 0) <= 0x7f) start += 1;
  if (bytes.length - start <= SAMPLE_BYTES) return bytes.subarray(start);
  let end = start + SAMPLE_BYTES;
  while (end > start && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(start, end);
}

function isValid(bytes: Uint8Array, charset: string): boolean {
  try {
    new TextDecoder(charset, { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function decode(bytes: Uint8Array, charset: string): string {
  return new TextDecoder(charset).decode(bytes);
}

/**
 * Characters that are typical of text in each charset, and their share of its non-ASCII characters. The charset that
 * comes nearest to its share wins, among equals the first. chardet is no substitute: it takes a third of Russian pages, and Greek ones, for Latin.
 */
const CANDIDATES: readonly [charset: string, typical: RegExp, share: number][] = [
  ['windows-1252', /[äöüßéèêàâçñóíáúãõåøæ’“”–—€]/g, 0.9],
  ['shift_jis', /[\u3040-\u30ff]/g, 0.45],
  ['euc-jp', /[\u3040-\u30ff]/g, 0.45],
  ['gb18030', /[的一是不了在人有我他这中大来上个国们和地要以时年会可对生发后作]/g, 0.2],
  ['big5', /[的一是不了在人有我他這中大來上個國們和地要以時年會可對生發後作]/g, 0.2],
  ['euc-kr', /[\uac00-\ud7a3]/g, 0.9],
  ['windows-1251', /[оеаинтсрвлкмдпу]/gi, 0.7],
  ['windows-1253', /[αειονστρηυκλπ]/g, 0.65],
  ['windows-1255', /[\u05d0-\u05ea]/g, 0.95],
  ['windows-1256', /[\u0627-\u064a]/g, 0.95],
  ['windows-1254', /[ığşçöüİĞŞÇÖÜ]/g, 0.95],
  ['windows-1250', /[ěščřžýáíéůąćęłńóśźż]/g, 0.9],
  ['koi8-u', /[оеаинтсрвлкмдпу]/gi, 0.7],
  ['windows-874', /[\u0e01-\u0e2e]/g, 0.55],
];

/**
 * Marks of a wrong charset: characters that no text has, letters of one script beside those of another, Cyrillic capitals
 * within words, and Thai vowels and signs out of place.
 */
const IMPLAUSIBLE =
  /[\ufffd\u0080-\u009f\ue000-\uf8ff\u0e3f\u0e4f-\u0e5b]|[а-я](?=[А-Я])|[A-Za-z](?=[\u0370-\u0e7f])|[\u0370-\u0e7f](?=[A-Za-z])|[\u0e40-\u0e44](?![\u0e01-\u0e2e])|(?<![\u0e01-\u0e2e\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]/g;

function guessCharset(bytes: Uint8Array): string {
  let best = { charset: 'windows-1252', score: 0 };
  for (const [charset, typical, share] of CANDIDATES) {
    const text = new TextDecoder(charset).decode(bytes);
    const foreign = Math.max(1, text.match(/[^\p{ASCII}]/gu)?.length ?? 0);
    const wrong = (text.match(IMPLAUSIBLE)?.length ?? 0) / foreign;
    const score = Math.min(1, (text.match(typical)?.length ?? 0) / foreign / share) - 4 * wrong;
    if (score > best.score) best = { charset, score };
  }
  return best.charset;
}
