/** Characters that maps know: stretches of Unicode, first and last. */
type Stretch = readonly [first: number, last: number];
const STRETCHES: readonly Stretch[] = [
  [0x20, 0x5ff],
  [0x1e00, 0x33ff],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0xff00, 0xffef],
];
const HANGUL: Stretch = [0xac00, 0xd7a3];

/** Adobe's collections of characters. */
const COLLECTIONS = ['Japan1', 'GB1', 'CNS1', 'Korea1'] as const;
type Collection = (typeof COLLECTIONS)[number];

/**
 * The numbers that these maps give to characters begin behind those that Adobe's collections use, of which ASCII alone is
 * known here: what else a font has by those stays unread, and is not read wrongly.
 */
const FIRST_NUMBER: Readonly<Record<Collection, number>> = {
  Japan1: 31_000,
  GB1: 31_000,
  CNS1: 31_000,
  Korea1: 19_000,
};
/** All collections begin with ASCII. */
const AFTER_ASCII = 0x60;
const UNKNOWN = '<fffd>';

/** Encodings by the names of their maps (PDF 32000-1, table 118), with the collection that they belong to. */
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

/** Ranges of codes, by the encodings that have not those of the others. */
const SPACES: Readonly<Record<string, readonly string[]>> = {
  shift_jis: ['<00> <80>', '<a0> <df>', '<8140> <9ffc>', '<e040> <fcfc>'],
  jis: ['<2121> <7e7e>'],
};

/**
 * Maps of Chinese, Japanese and Korean encodings that PDFs name and do not hold, made from the decoders of the platform.
 * Without them the text of such fonts is lost. Given to pdf.js as its `BinaryDataFactory`.
 */
export class CjkMaps {
  /** @throws Error for a map that is not known, and for fonts. */
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const map = kind === 'cMapUrl' ? (unicodeMap(filename) ?? encodingMap(filename)) : undefined;
    if (map === undefined) throw new Error(`there is no map ${filename}`);
    return new TextEncoder().encode(map);
  }
}

function stretchesOf(collection: Collection): { first: number; last: number; number: number }[] {
  let number = FIRST_NUMBER[collection];
  return [...STRETCHES, ...(collection === 'Korea1' ? [HANGUL] : [])].map(([first, last]) => {
    const stretch = { first, last, number };
    number += last - first + 1;
    return stretch;
  });
}

/** From the numbers of a collection to Unicode, as pdf.js asks for it. */
function unicodeMap(name: string): string | undefined {
  const collection = COLLECTIONS.find((each) => name === `Adobe-${each}-UCS2`);
  if (collection === undefined) return undefined;
  const ranges = stretchesOf(collection).map(
    ({ first, last, number }) => `<${hex(number)}> <${hex(number + last - first)}> <${hex(first)}>`,
  );
  const first = FIRST_NUMBER[collection];
  ranges.push(`<0001> <${hex(AFTER_ASCII - 1)}> <0020>`);
  ranges.push(`<${hex(AFTER_ASCII)}> <${hex(first - 1)}> [${UNKNOWN.repeat(first - AFTER_ASCII)}]`);
  return cmap(['<0000> <ffff>'], `${ranges.length} beginbfrange\n${ranges.join('\n')}\nendbfrange`);
}

function encodingMap(name: string): string | undefined {
  const known = ENCODINGS.find(([pattern]) => pattern.test(name));
  if (!known) return undefined;
  const [, charset, collection] = known;
  const stretches = stretchesOf(collection);
  if (charset === 'utf-16be') {
    const ranges = stretches.map(({ first, last, number }) => `<${hex(first)}> <${hex(last)}> ${number}`);
    return cmap(['<0000> <ffff>'], `${ranges.length} begincidrange\n${ranges.join('\n')}\nendcidrange`);
  }
  const lines: string[] = [];
  for (const { code, character } of charactersOf(charset)) {
    const stretch = stretches.find(({ first, last }) => character >= first && character <= last);
    if (stretch) lines.push(`<${code}> ${stretch.number + character - stretch.first}`);
  }
  return cmap(
    SPACES[charset] ?? ['<00> <80>', '<8140> <fefe>'],
    `${lines.length} begincidchar\n${lines.join('\n')}\nendcidchar`,
  );
}

/** The codes of an encoding, in hexadecimal, and the characters that they stand for. */
function charactersOf(charset: string): { code: string; character: number }[] {
  const isJis = charset === 'jis';
  const codes: number[][] = isJis ? [] : Array.from({ length: 0xe0 }, (_, at) => [at + 0x20]);
  const [first, last, trail] = isJis ? [0xa1, 0xfe, 0xa1] : [0x81, 0xfe, 0x40];
  for (let lead = first; lead <= last; lead++) for (let next = trail; next <= 0xfe; next++) codes.push([lead, next]);
  // Decoded together, a line each: a decoder call for each costs more than all of them.
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

function cmap(spaces: readonly string[], body: string): string {
  return `begincmap\n${spaces.length} begincodespacerange\n${spaces.join('\n')}\nendcodespacerange\n${body}\nendcmap\n`;
}
