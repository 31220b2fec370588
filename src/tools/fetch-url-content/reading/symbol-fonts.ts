/** The characters of the font Symbol from 0x21 on, as Adobe defines its encoding; a space where Unicode has none. */
const SYMBOL =
  '!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼' +
  ' '.repeat(33) +
  '€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈… ―↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑';
const FIRST = 0x21;
/** Marks of the Wingdings fonts that mean something. */
const WINGDINGS = new Map([
  [0x6f, '☐'],
  [0xa8, '☐'],
  [0xe0, '→'],
  [0xf0, '→'],
  [0xfb, '✗'],
  [0xfc, '✓'],
  [0xfd, '☒'],
  [0xfe, '☑'],
]);

/** The character with this code in a symbol font; most others are bullets. */
export function symbolOf(font: string, code: number): string {
  if (!(code >= 0 && code <= 0xffff)) return '';
  const isSymbol = (code & 0xff00) === 0xf000;
  const place = isSymbol ? code & 0xff : code;
  if (/^symbol/i.test(font)) return SYMBOL[place - FIRST]?.trim() || '•';
  if (/^wingdings$/i.test(font)) return WINGDINGS.get(place) ?? '•';
  return isSymbol ? '•' : String.fromCharCode(code);
}

/** A text that is set in the font Symbol. */
export function symbolText(text: string): string {
  return text.replace(/[!-\u00ff]/g, (sign) => symbolOf('Symbol', sign.charCodeAt(0)));
}
