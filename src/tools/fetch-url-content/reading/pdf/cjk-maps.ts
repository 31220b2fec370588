/** Ranges of Unicode that the maps cover, each with its first and last character. */
type UnicodeRange = readonly [first: number, last: number];
const RANGES: readonly UnicodeRange[] = [
  [0x20, 0x5ff],
  [0x1e00, 0x33ff],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0xff00, 0xffef],
];
const HANGUL_RANGE: UnicodeRange = [0xac00, 0xd7a3];

/** Adobe's character collections. */
const COLLECTIONS = ['Japan1', 'GB1', 'CNS1', 'Korea1'] as const;
type Collection = (typeof COLLECTIONS)[number];

/**
 * The character ids (CIDs) of these maps begin after those of Adobe's collections, of which only ASCII is known here.
 * A font's other CIDs of Adobe's stay unread rather than being read wrongly.
 */
const FIRST_CID: Readonly<Record<Collection, number>> = {
  Japan1: 31_000,
  GB1: 31_000,
  CNS1: 31_000,
  Korea1: 19_000,
};
/** The first CID after ASCII, with which all collections begin. */
const AFTER_ASCII = 0x60;
const UNKNOWN = '<fffd>';

/** Encodings by the names of their maps (PDF 32000-1, table 118), with their collections. */
const ENCODINGS: readonly [name: RegExp, charset: string, collection: Collection][] = [
  [/^UniJIS\w*-(?:UCS2|UTF16)-/, 'utf-16be', 'Japan1'],
  [/^UniGB-(?:UCS2|UTF16)-/, 'utf-16be', 'GB1'],
  [/^UniCNS-(?:UCS2|UTF16)-/, 'utf-16be', 'CNS1'],
  [/^UniKS-(?:UCS2|UTF16)-/, 'utf-16be', 'Korea1'],
  [/RKSJ-/, 'shift_jis', 'Japan1'],
  [/^EUC-/, 'euc-jp', 'Japan1'],
  [/^[HV]$/, 'jis', 'Japan1'],
  [/^GB(?:pc|K|Kp|K2K)?(?:-EUC)?-/, 'gb18030', 'GB1'],
  [/B5-|^B5pc-/, 'big5', 'CNS1'],
  [/^KSC(?:ms|pc)?-(?:EUC|UHC)-/, 'euc-kr', 'Korea1'],
];

/** Code ranges of the encodings that differ from the others. */
const CODE_SPACES: Readonly<Record<string, readonly string[]>> = {
  shift_jis: ['<00> <80>', '<a0> <df>', '<8140> <9ffc>', '<e040> <fcfc>'],
  jis: ['<2121> <7e7e>'],
};

/**
 * Character maps of Chinese, Japanese and Korean encodings that PDFs name without embedding them, made from the
 * platform's decoders. Without them the text of such fonts is lost. pdf.js takes this class as its `BinaryDataFactory`.
 */
export class CjkMaps {
  /** @throws Error for an unknown map, and for fonts. */
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const map = kind === 'cMapUrl' ? (unicodeMap(filename) ?? encodingMap(filename)) : undefined;
    if (map === undefined) throw new Error(`there is no map ${filename}`);
    // Vertical text that was taken for horizontal would run off the page, where pdf.js drops it.
    const isVertical = /(?:^|-)V$/.test(filename);
    return new TextEncoder().encode(isVertical ? map.replace('begincmap', 'begincmap\n/WMode 1 def') : map);
  }
}

function rangesOf(collection: Collection): { first: number; last: number; number: number }[] {
  let number = FIRST_CID[collection];
  return [...RANGES, ...(collection === 'Korea1' ? [HANGUL_RANGE] : [])].map(([first, last]) => {
    const range = { first, last, number };
    number += last - first + 1;
    return range;
  });
}

/** The map from a collection's CIDs to Unicode that pdf.js requests. */
function unicodeMap(name: string): string | undefined {
  const collection = COLLECTIONS.find((candidate) => name === `Adobe-${candidate}-UCS2`);
  if (collection === undefined) return undefined;
  const ranges = rangesOf(collection).map(
    ({ first, last, number }) => `<${hex(number)}> <${hex(number + last - first)}> <${hex(first)}>`,
  );
  const first = FIRST_CID[collection];
  ranges.push(`<0001> <${hex(AFTER_ASCII - 1)}> <0020>`);
  ranges.push(`<${hex(AFTER_ASCII)}> <${hex(first - 1)}> [${UNKNOWN.repeat(first - AFTER_ASCII)}]`);
  return cmap(['<0000> <ffff>'], `${ranges.length} beginbfrange\n${ranges.join('\n')}\nendbfrange`);
}

function encodingMap(name: string): string | undefined {
  const known = ENCODINGS.find(([pattern]) => pattern.test(name));
  if (!known) return undefined;
  const [, charset, collection] = known;
  const cidRanges = rangesOf(collection);
  if (charset === 'utf-16be') {
    const ranges = cidRanges.map(({ first, last, number }) => `<${hex(first)}> <${hex(last)}> ${number}`);
    return cmap(['<0000> <ffff>'], `${ranges.length} begincidrange\n${ranges.join('\n')}\nendcidrange`);
  }
  const lines: string[] = [];
  for (const { code, character } of charactersOf(charset)) {
    const range = cidRanges.find(({ first, last }) => character >= first && character <= last);
    if (range) lines.push(`<${code}> ${range.number + character - range.first}`);
  }
  return cmap(
    CODE_SPACES[charset] ?? ['<00> <80>', '<8140> <fefe>'],
    `${lines.length} begincidchar\n${lines.join('\n')}\nendcidchar`,
  );
}

/** The codes of an encoding, in hexadecimal, with their characters. */
function charactersOf(charset: string): { code: string; character: number }[] {
  const isJis = charset === 'jis';
  const codes: number[][] = isJis ? [] : Array.from({ length: 0xe0 }, (_, at) => [at + 0x20]);
  const [first, last, trail] = isJis ? [0xa1, 0xfe, 0xa1] : [0x81, 0xfe, 0x40];
  for (let lead = first; lead <= last; lead++) for (let next = trail; next <= 0xfe; next++) codes.push([lead, next]);
  // All codes are decoded together, one a line: a decoder call for each would cost far more.
  const bytes = Uint8Array.from(codes.flatMap((code) => [...code, 0x0a]));
  const decoded = new TextDecoder(isJis ? 'euc-jp' : charset).decode(bytes).split('\n');
  return codes.flatMap((code, at) => {
    const characters = [...(decoded[at] ?? '')];
    const character = characters[0]?.codePointAt(0) ?? 0xfffd;
    if (characters.length !== 1 || character === 0xfffd) return [];
    return { code: code.map((byte) => hex(isJis ? byte - 0x80 : byte, 2)).join(''), character };
  });
}

function hex(number: number, length = 4): string {
  return number.toString(16).padStart(length, '0');
}

function cmap(codeSpaces: readonly string[], body: string): string {
  return `begincmap\n${codeSpaces.length} begincodespacerange\n${codeSpaces.join('\n')}\nendcodespacerange\n${body}\nendcmap\n`;
}
