import type { SamplePage } from './prose.ts';

const RUSSIAN =
  'Уровень воды в реке поднялся на три метра за два дня, сообщает служба наблюдения. Жителей просят не выходить к берегу.';
const JAPANESE = '東京湾の水位は二日間で三メートル上昇したと観測所が発表しました。住民は海岸に近づかないでください。';
const CHINESE = '观测站说，河流的水位在两天内上升了三米，这是十年来最高的一次。人们不要到河边去。';
const GERMAN =
  'Der Flußpegel stieg in zwei Tagen um drei Meter, meldet die Meßstelle – für Anwohner „außergewöhnlich hoch“.';

/** Bytes of a text in a single-byte charset, found by decoding every byte. */
export function singleByte(text: string, charset: string): Uint8Array {
  const table = new Map(
    Array.from({ length: 256 }, (_, byte) => [new TextDecoder(charset).decode(Uint8Array.of(byte)), byte]),
  );
  return Uint8Array.from([...text], (character) => table.get(character) ?? 0x3f);
}

/** Bytes in a charset whose characters take one or two bytes, found the same way. */
function doubleByte(text: string, charset: string): Uint8Array {
  const decoder = new TextDecoder(charset);
  const table = new Map<string, number[]>();
  for (let lead = 0x81; lead <= 0xfe; lead++) {
    for (let trail = 0x40; trail <= 0xfe; trail++) {
      const character = decoder.decode(Uint8Array.of(lead, trail));
      if ([...character].length === 1 && !table.has(character)) table.set(character, [lead, trail]);
    }
  }
  return Uint8Array.from([...text].flatMap((character) => table.get(character) ?? [character.charCodeAt(0) & 0x7f]));
}

function page(text: string, head: string): string {
  return `<html><head>${head}<title>T</title></head><body><div id="menu"><a href="/">x</a></div><div class="article"><h1>T</h1><p>${text}</p><p>${text}</p><p>${text}</p></div></body></html>`;
}

function sample(name: string, text: string, bytes: Uint8Array, contentType: string): SamplePage {
  return { name, contentType, body: bytes, title: 'T', present: [text], absent: ['\ufffd'], markdown: [] };
}

/** Pages in legacy charsets: named by the server, by the page, by nobody, or wrongly. */
export function legacyCharsetPages(): SamplePage[] {
  const meta = (charset: string) => `<meta http-equiv="Content-Type" content="text/html; charset=${charset}">`;
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(page(CHINESE, ''), 'utf16le')]);
  return [
    sample(
      'windows-1251 named by the server',
      RUSSIAN,
      singleByte(page(RUSSIAN, ''), 'windows-1251'),
      'text/html; charset=windows-1251',
    ),
    sample('windows-1251 named by nobody', RUSSIAN, singleByte(page(RUSSIAN, ''), 'windows-1251'), 'text/html'),
    sample(
      'Shift_JIS named by the page',
      JAPANESE,
      doubleByte(page(JAPANESE, meta('Shift_JIS')), 'shift_jis'),
      'text/html',
    ),
    sample('Shift_JIS named by nobody', JAPANESE, doubleByte(page(JAPANESE, ''), 'shift_jis'), 'text/html'),
    sample(
      'GBK that the server calls UTF-8',
      CHINESE,
      doubleByte(page(CHINESE, meta('gb2312')), 'gb18030'),
      'text/html; charset=utf-8',
    ),
    sample('GBK named by nobody', CHINESE, doubleByte(page(CHINESE, ''), 'gb18030'), 'text/html'),
    sample('windows-1252 named by nobody', GERMAN, singleByte(page(GERMAN, ''), 'windows-1252'), 'text/html'),
    sample(
      'UTF-8 that the server calls ISO-8859-1',
      GERMAN,
      Buffer.from(page(GERMAN, meta('utf-8'))),
      'text/html; charset=iso-8859-1',
    ),
    sample('UTF-16 with a byte order mark', CHINESE, utf16, 'text/html'),
  ];
}
