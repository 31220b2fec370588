import { toSingleLine } from '../../../../base/text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { addressInField, closeLink, DocumentWriter, MAX_LINKED_LENGTH } from './document-writer.ts';
import { codePageDecoder, fontDecoders, MACINTOSH } from './rtf-code-pages.ts';

/** Groups without text of the document. */
const SKIPPED = new Set(
  'fonttbl colortbl stylesheet listtable listoverridetable rsidtbl pict object themedata colorschememapping datastore latentstyles xmlnstbl generator filetbl revtbl mmathpr wgrffmtfilter info xe tc rxe txe template ftnsep ftnsepc aftnsep aftnsepc'.split(
    ' ',
  ),
);

/** Control words and symbols that represent text. */
const SYMBOLS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tab: ' ',
    line: '\n',
    emdash: '—',
    endash: '–',
    lquote: '‘',
    rquote: '’',
    ldblquote: '“',
    rdblquote: '”',
    bullet: '•',
    emspace: ' ',
    enspace: ' ',
    '~': ' ',
    _: '-',
    '{': '{',
    '}': '}',
    '\\': '\\',
  }),
);

/** A part that is read separately from the text around it. */
type Aside = { kind: 'margin' | 'box' } | { kind: 'note'; id: string };

interface Group {
  skipped: boolean;
  /** How many characters after a `\u` are its substitute for readers that do not know it. */
  substitutes: number;
  /** The field of `\info` that the group contains, or the code of a field in the text. */
  part: 'title' | 'author' | 'field' | undefined;
  /** Whether its text is hidden or deleted. */
  hidden: boolean;
  decoder: TextDecoder;
  /** In the group with the result of a field that is a link: its address, and the text before it. */
  link?: { target: string; before: string } | undefined;
  /** In the group that begins an aside: what is around the aside. */
  outer?: { text: string; inCell: boolean; heading: number | undefined; aside: Aside } | undefined;
}

/** Reads rich text: headings, paragraphs, tables, notes, comments, and each header and footer once. */
export function readRtf(bytes: Uint8Array): ParsedDocument {
  return new RtfReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')).read();
}

/** How deep groups are nested; the reader stops at a deeper one. */
const MAX_DEPTH = 10_000;
/** `\name`, with a number and a trailing space. */
const WORD = /\\([a-z]{1,32})(-?\d{1,9})? ?/iy;
/** The longest text of a field, in UTF-16 code units. */
const MAX_INFO_LENGTH = 2000;
const MARGIN = /^(?:header|footer)[lrf]?$/;

/** Reads the characters in one pass, with a stack of open groups. */
class RtfReader {
  readonly #source: string;
  readonly #writer = new DocumentWriter();
  readonly #info = { title: '', author: '', field: '' };
  readonly #stack: Group[] = [];
  #group: Group;
  readonly #fonts: ReadonlyMap<number, TextDecoder>;
  readonly #headings: ReadonlyMap<number, number>;
  #noteCount = 0;
  #text = '';
  /** Bytes that are not yet decoded, and ASCII letters after them: such a letter may be the second byte of a character. */
  #pending: number[] = [];
  /** How many characters to skip as substitutes of a `\u`. */
  #drop = 0;
  #row: string[] = [];
  #inCell = false;
  #inTable = false;
  #isAside = false;
  #heading: number | undefined;

  constructor(source: string) {
    this.#source = source;
    const head = source.slice(0, 1000);
    const usual = /^\{\\rtf\d?\\mac\b/.test(head) ? MACINTOSH : 1252;
    const standard = codePageDecoder(Number(/\\ansicpg(\d{1,5})/.exec(head)?.[1] ?? usual));
    this.#fonts = fontDecoders(source, standard);
    this.#headings = headingStyles(source);
    const first = this.#fonts.get(Number(/\\deff(\d{1,5})/.exec(head)?.[1] ?? -1));
    this.#group = { skipped: false, substitutes: 1, part: undefined, hidden: false, decoder: first ?? standard };
  }

  read(): ParsedDocument {
    const source = this.#source;
    for (let at = 0; at < source.length && !this.#writer.isFull; ) {
      const character = source[at] ?? '';
      const isByte = character > '\u007f' || (this.#pending.length > 0 && !/[\\{}\r\n]/.test(character));
      if (!isByte && (character !== '\\' || source[at + 1] !== "'")) this.#flushBytes();
      if (character === '\\') {
        at = this.#control(at);
        continue;
      }
      at += 1;
      if (character === '{' || character === '}') this.#drop = 0;
      if (character === '{') {
        if (this.#stack.length > MAX_DEPTH) break;
        this.#stack.push(this.#group);
        this.#group = { ...this.#group, outer: undefined, link: undefined };
      } else if (character === '}') this.#endGroup();
      else if (character === '\r' || character === '\n') continue;
      else if (this.#drop > 0) this.#drop -= 1;
      else if (isByte) this.#pending.push(character.charCodeAt(0));
      else this.#emit(character);
    }
    this.#flushBytes();
    while (this.#stack.length > 0) this.#endGroup();
    this.#endRow();
    this.#endParagraph();
    this.#endTable();
    const { title, author } = this.#info;
    return { title: title.trim(), author: author.trim(), content: this.#writer.toString() };
  }

  #emit(piece: string): void {
    const { part, skipped, hidden } = this.#group;
    if (part) this.#info[part] = (this.#info[part] + piece).slice(0, MAX_INFO_LENGTH);
    else if (!skipped && !hidden) this.#text += piece;
  }

  #flushBytes(): void {
    if (this.#pending.length > 0) this.#emit(this.#group.decoder.decode(Uint8Array.from(this.#pending)));
    this.#pending = [];
  }

  #endGroup(): void {
    const { outer, link } = this.#group;
    this.#group = this.#stack.pop() ?? this.#group;
    // Comparing two texts is far quicker than `startsWith`.
    if (link && this.#text.slice(0, link.before.length) === link.before) {
      this.#text = closeLink(this.#text, { target: link.target, start: link.before.length });
    }
    if (!outer) return;
    this.#isAside = false;
    if (outer.aside.kind === 'note') this.#writer.note(outer.aside.id, this.#text);
    else if (outer.aside.kind === 'box') this.#writer.paragraph(this.#text);
    else this.#writer.margin(this.#text);
    [this.#text, this.#inCell, this.#heading] = [outer.text, outer.inCell, outer.heading];
  }

  #beginAside(aside: Aside): void {
    if (this.#isAside) return;
    this.#isAside = true;
    this.#group.skipped = false;
    const text = this.#text + (aside.kind === 'note' ? `[^${aside.id}]` : '');
    this.#group.outer = { text, inCell: this.#inCell, heading: this.#heading, aside };
    this.#text = '';
  }

  /** Begins the result of a field. In a very long paragraph links are only text. */
  #beginResult(): void {
    const target = addressInField(this.#info.field);
    this.#info.field = '';
    if (target !== '' && this.#text.length < MAX_LINKED_LENGTH) this.#group.link = { target, before: this.#text };
  }

  #endParagraph(): void {
    if (this.#inCell || this.#isAside) {
      this.#text += ' ';
      return;
    }
    if (this.#text.trim() !== '') this.#endTable();
    this.#writer.paragraph(this.#text, { heading: this.#heading });
    this.#text = '';
  }

  #endRow(): void {
    if (this.#row.length > 0) {
      if (!this.#inTable) this.#writer.openTable();
      this.#inTable = true;
      this.#writer.openRow();
      for (const text of this.#row) {
        this.#writer.paragraph(text);
        this.#writer.closeCell();
      }
    }
    this.#row = [];
    this.#inCell = false;
  }

  #endTable(): void {
    if (this.#inTable) this.#writer.closeTable();
    this.#inTable = false;
  }

  /** Reads the control word or symbol at `at`. Returns the index after it. */
  #control(at: number): number {
    WORD.lastIndex = at;
    const word = WORD.exec(this.#source);
    if (word) {
      const [all, name = '', digits] = word;
      const value = digits === undefined ? undefined : Number(digits);
      this.#word(name, value);
      // `\binN` is followed by N bytes of binary data.
      return at + all.length + (name === 'bin' ? Math.max(0, value ?? 0) : 0);
    }
    const symbol = this.#source[at + 1] ?? '';
    if (symbol === "'") {
      const byte = Number.parseInt(this.#source.slice(at + 2, at + 4), 16);
      if (this.#drop > 0) this.#drop -= 1;
      else if (Number.isFinite(byte)) this.#pending.push(byte);
      return at + 4;
    }
    if (symbol === '*') this.#group.skipped ||= this.#source[at - 1] === '{';
    else if (SYMBOLS.has(symbol)) this.#symbol(symbol);
    else if ((symbol === '\n' || symbol === '\r') && !this.#group.skipped) this.#endParagraph();
    return at + 2;
  }

  #word(name: string, value: number | undefined): void {
    const group = this.#group;
    if (SKIPPED.has(name)) group.skipped = true;
    else if (name === 'fldinst') [group.part, this.#info.field] = ['field', ''];
    else if (name === 'fldrslt') this.#beginResult();
    else if (name === 'title' || name === 'author') group.part = this.#stack.length > 1 ? name : undefined;
    else if (name === 'uc') group.substitutes = Math.min(Math.max(value ?? 1, 0), 8);
    else if (name === 'u') {
      const code = (value ?? 0) & 0xffff;
      // Characters of symbol fonts are nearly always bullets.
      this.#emit(code >= 0xf000 && code <= 0xf0ff ? '•' : String.fromCharCode(code));
      this.#drop = group.substitutes;
    } else if (name === 'f') group.decoder = this.#fonts.get(value ?? 0) ?? group.decoder;
    else if (name === 'v' || name === 'deleted') group.hidden = value !== 0;
    else if (name === 'plain') group.hidden = false;
    // Of the groups that begin with `\*`, only comments and text boxes are text, and notes of pandoc.
    else if (name === 'annotation') this.#beginAside({ kind: 'note', id: `c${++this.#noteCount}` });
    else if (name === 'footnote') this.#beginAside({ kind: 'note', id: `${++this.#noteCount}` });
    else if (name === 'shptxt') this.#beginAside({ kind: 'box' });
    else if (group.skipped) return;
    else if (MARGIN.test(name)) this.#beginAside({ kind: 'margin' });
    else this.#layout(name, value);
  }

  #layout(name: string, value: number | undefined): void {
    if (name === 'intbl') this.#inCell = !this.#isAside;
    else if (name === 'pard') [this.#inCell, this.#heading] = [false, undefined];
    else if (name === 's') this.#heading = this.#headings.get(value ?? -1);
    else if (name === 'outlinelevel') this.#heading = value !== undefined && value < 9 ? value + 1 : undefined;
    else if (name === 'par' || name === 'sect' || name === 'page') this.#endParagraph();
    else if (name === 'cell' && !this.#isAside) {
      this.#row.push(toSingleLine(this.#text));
      this.#text = '';
    } else if (name === 'row') this.#endRow();
    else if (name === 'nestcell' || name === 'nestrow') this.#emit(' ');
    else if (SYMBOLS.has(name)) this.#symbol(name);
  }

  /** Adds the character of a control word or symbol, unless it is the substitute of a `\u`. Spaces and breaks are none. */
  #symbol(name: string): void {
    const character = SYMBOLS.get(name) ?? '';
    if (this.#drop > 0 && character.trim() !== '') this.#drop -= 1;
    else this.#emit(character);
  }
}

function headingStyles(source: string): Map<number, number> {
  const at = source.indexOf('{\\stylesheet');
  const styles = at < 0 ? '' : source.slice(at, at + 200_000);
  const found = styles.matchAll(/\{\\s(\d{1,5})\b[^;{}]{0,600}?[Hh]eading (\d);/g);
  return new Map([...found].map(([, style, level]) => [Number(style), Number(level)]));
}
