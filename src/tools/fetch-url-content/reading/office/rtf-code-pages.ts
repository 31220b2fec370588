/** The decoder of a code page by its number; an unknown one is decoded as Western European. */
export function codePageDecoder(codePage: number): TextDecoder {
  try {
    return new TextDecoder(NAMES[codePage] ?? `windows-${codePage}`);
  } catch {
    return new TextDecoder('windows-1252');
  }
}

export const MACINTOSH = 10000;
const NAMES: Readonly<Record<number, string>> = {
  932: 'shift_jis',
  936: 'gb18030',
  949: 'euc-kr',
  950: 'big5',
  [MACINTOSH]: 'macintosh',
  10007: 'x-mac-cyrillic',
  65001: 'utf-8',
};
/** The code pages of the character sets of fonts (`\fcharset`). */
const CODE_PAGES: Readonly<Record<number, number>> = {
  77: MACINTOSH,
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
const MAX_TABLE_LENGTH = 500_000;

/** The decoders of a file's fonts, by font number; fonts without a code page use the file's decoder `standard`. */
export function fontDecoders(source: string, standard: TextDecoder): Map<number, TextDecoder> {
  const at = source.indexOf('{\\fonttbl');
  const table = at < 0 ? '' : source.slice(at, at + MAX_TABLE_LENGTH);
  const pages = new Map<number, TextDecoder>();
  const fonts = new Map<number, TextDecoder>();
  for (const [, font, charset] of table.matchAll(/\\f(\d{1,5})\b[^{};]{0,200}?\\fcharset(\d{1,3})/g)) {
    const number = CODE_PAGES[Number(charset)];
    const page = number === undefined ? standard : (pages.get(number) ?? codePageDecoder(number));
    if (number !== undefined) pages.set(number, page);
    fonts.set(Number(font), page);
  }
  return fonts;
}
