import assert from 'node:assert/strict';
import { decodeText } from '../../../src/tools/fetch-url-content/reading/plain/charset.ts';
import { singleByte } from '../../support/sample-pages/languages.ts';

const WESTERN = [
  'En raison du taux élevé de délinquance, la préfecture a fermé le marché où les élèves se réunissaient.',
  'La Antártida registró temperaturas más altas que las del año pasado, según un informe de la misión.',
  'Só quem já viveu o verão em Lisboa sabe que a cidade não dorme; é uma emoção incrível.',
  'Questa attività di monitoraggio è già attuata in ogni città.',
  'Die Straße über den Fluß wird für drei Wochen geschlossen, weil die Brücke zu schwer geprüft wurde.',
  'Fru Sørensen bor på en ø i nærheden af Århus.',
];
/** Bytes of ISO 8859-7 in this range are those of windows-1253, 848 below their characters. */
const greek = (text: string) =>
  Buffer.from([...text].map((letter) => (letter.charCodeAt(0) - (letter > '\u0370' ? 0x2d0 : 0)) & 0xff));

describe('decodeText with a charset', () => {
  it('reads UTF-8 as such, whatever a page that was saved as UTF-8 declares', () => {
    for (const charset of ['gbk', 'shift_jis', 'iso-8859-15', 'windows-1251']) {
      const html = `<meta charset="${charset}"><p>Schiffe, суда, 船は港に</p>`;
      assert.equal(decodeText(Buffer.from(html)), html, charset);
    }
  });

  it('does not believe a server that says UTF-8 of text in another charset, but does if a few bytes are broken', () => {
    const cyrillic = 'Весной гавань углубили, и паромы до июня ходили северным фарватером.';
    const bytes = [...cyrillic].map((letter) => letter.charCodeAt(0) - (letter > '\u0400' ? 0x350 : 0));
    assert.equal(decodeText(Buffer.from(bytes), 'utf-8'), cyrillic);
    const broken = Buffer.concat([Buffer.from(cyrillic), Buffer.from([0xd0])]);
    assert.equal(decodeText(broken, 'utf-8'), `${cyrillic}\ufffd`);
  });
});

describe('decodeText without a charset', () => {
  for (const text of WESTERN) {
    it(`reads Western European: ${text.slice(0, 30)}`, () =>
      assert.equal(decodeText(Buffer.from(text, 'latin1')), text));
  }

  it('reads UTF-16 if every second byte is 0', () => {
    const text = 'Tides of the coast';
    assert.equal(decodeText(Buffer.from(text, 'utf16le')), text);
    assert.equal(decodeText(Buffer.from(text, 'utf16le').swap16()), text);
  });

  it('reads Turkish', () => {
    const text = 'Ilkbaharda liman derinleştirildi, vapurlar kıyıdan geçti';
    const bytes = text.replace(/[şı]/g, (letter) => (letter === 'ş' ? 'þ' : 'ý'));
    assert.equal(decodeText(Buffer.from(bytes, 'latin1')), text);
  });

  it('reads Greek if its words are Greek', () => {
    const text = 'τα νερα της θαλασσας ανεβαινουν και κατεβαινουν καθε μερα δυο φορες';
    assert.equal(decodeText(greek(text)), text);
  });

  for (const [charset, text] of [
    ['windows-1251', 'Уровень воды поднялся на три метра. СЛУЖБА НАБЛЮДЕНИЯ'],
    ['windows-1251', 'СЛУЖБА НАБЛЮДЕНИЯ СООБЩАЕТ: УРОВЕНЬ ПОДНЯЛСЯ'],
    ['koi8-r', 'Уровень воды в реке поднялся на три метра за два дня'],
    ['koi8-u', 'Рівень води в річці піднявся на три метри, її мешканців'],
    ['windows-874', 'ระดับน้ำในแม่น้ำสูงขึ้นสามเมตรภายในสองวัน ตามรายงาน'],
    ['windows-1253', 'Η στάθμη του ποταμού ανέβηκε τρία μέτρα'],
    ['windows-1255', 'מפלס הנהר עלה בשלושה מטרים תוך יומיים'],
    ['windows-1256', 'ارتفع منسوب مياه النهر ثلاثة أمتار خلال يومين'],
    ['windows-1252', 'Le niveau de la rivière a monté, où ça, être à Noël; ô'],
    ['windows-1252', 'Vattennivån i ån steg tre meter. Människor på stranden'],
  ] as const) {
    it(`reads ${charset}: ${text.slice(0, 20)}`, () => assert.equal(decodeText(singleByte(text, charset)), text));
  }

  it('judges text behind a long beginning in ASCII', () => {
    const start = '<script>let a = 1;</script>'.repeat(4000);
    const bytes = Buffer.concat([Buffer.from(start), singleByte('Größe und Übung, äußerst', 'windows-1252')]);
    assert.equal(decodeText(bytes).slice(start.length), 'Größe und Übung, äußerst');
    assert.equal(decodeText(bytes, 'utf-8').slice(start.length), 'Größe und Übung, äußerst');
    assert.equal(decodeText(Buffer.from(`${start}Größe`)).slice(start.length), 'Größe');
  });
});
