/** A code page that bytes of a rich text file are in. */
export class CodePage {
  readonly #decoder: TextDecoder;
  /** Whether its letters beyond ASCII have two bytes. */
  readonly #isDouble: boolean;

  constructor(number: number) {
    const name = NAMES[number];
    this.#isDouble = name !== undefined && number < 1000;
    try {
      this.#decoder = new TextDecoder(name ?? `windows-${number}`);
    } catch {
      this.#decoder = new TextDecoder('windows-1252');
    }
  }

  decode(bytes: readonly number[]): string {
    return this.#decoder.decode(Uint8Array.from(bytes));
  }

  /** Whether a byte that begins a character is the first half of it. */
  isFirstHalf(byte: number): boolean {
    const isKana = this.#decoder.encoding === 'shift_jis' && byte > 0x9f && byte < 0xe0;
    return this.#isDouble && byte > 0x80 && !isKana;
  }
}

const NAMES: Readonly<Record<number, string>> = {
  932: 'shift_jis',
  936: 'gb18030',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  10007: 'x-mac-cyrillic',
  65001: 'utf-8',
};
/** The code pages of the character sets that fonts are for (`\fcharset`). */
const OF_CHARSET: Readonly<Record<number, number>> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};
const LONGEST_TABLE = 500_000;

/** The code pages of the fonts of a file, by their numbers; those that name none have the file's own. */
export function fontCodePages(source: string, standard: CodePage): Map<number, CodePage> {
  const at = source.indexOf('{\\fonttbl');
  const table = at < 0 ? '' : source.slice(at, at + LONGEST_TABLE);
  const pages = new Map<number, CodePage>();
  const fonts = new Map<number, CodePage>();
  for (const [, font, charset] of table.matchAll(/\{\\f(\d{1,5})\b[^{};]{0,200}?\\fcharset(\d{1,3})/g)) {
    const number = OF_CHARSET[Number(charset)];
    const page = number === undefined ? standard : (pages.get(number) ?? new CodePage(number));
    if (number !== undefined) pages.set(number, page);
    fonts.set(Number(font), page);
  }
  return fonts;
}
