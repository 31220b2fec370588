import { joinSpaces } from '../../../../base/text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { DocumentWriter } from './document-writer.ts';

/** Groups that hold no text of the document. */
const SKIPPED = new Set(
  'fonttbl colortbl stylesheet listtable listoverridetable rsidtbl pict object themedata colorschememapping datastore latentstyles xmlnstbl header headerl headerr headerf footer footerl footerr footerf footnote generator filetbl revtbl fldinst mmathpr wgrffmtfilter info'.split(
    ' ',
  ),
);

/** Control words and symbols that are text. */
const SYMBOLS: Readonly<Record<string, string>> = {
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
};

interface Group {
  skipped: boolean;
  /** Characters that stand for a `\u` in readers that do not know it. */
  spare: number;
  /** Where `\info` keeps its parts. */
  part: 'title' | 'author' | undefined;
}

/** A rich text file. */
export function readRtf(bytes: Uint8Array): ParsedDocument {
  return new RtfReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')).read();
}

/** `\name`, with a number and the space that ends it. */
const WORD = /\\([a-z]{1,32})(-?\d{1,9})? ?/iy;

/** One pass over the characters; groups cost a stack of small objects. */
class RtfReader {
  readonly #source: string;
  readonly #writer = new DocumentWriter();
  readonly #info = { title: '', author: '' };
  readonly #stack: Group[] = [];
  #group: Group = { skipped: false, spare: 1, part: undefined };
  #decoder = new TextDecoder('windows-1252');
  #text = '';
  /** Bytes of the code page that are not decoded yet. */
  #pending: number[] = [];
  /** Characters to leave out: they stand for a `\u`. */
  #drop = 0;
  #row: string[] = [];
  #inCell = false;

  constructor(source: string) {
    this.#source = source;
  }

  read(): ParsedDocument {
    const source = this.#source;
    for (let at = 0; at < source.length && !this.#writer.isFull; ) {
      const character = source[at] ?? '';
      if (character !== '\\' || source[at + 1] !== "'") this.#flushBytes();
      if (character === '\\') {
        at = this.#control(at);
        continue;
      }
      at += 1;
      if (character === '{') {
        if (this.#stack.length > 10_000) break;
        this.#stack.push(this.#group);
        this.#group = { ...this.#group };
      } else if (character === '}') this.#group = this.#stack.pop() ?? this.#group;
      else if (this.#drop > 0) this.#drop -= 1;
      else if (character !== '\r' && character !== '\n') this.#emit(character);
    }
    this.#flushBytes();
    this.#writer.paragraph(this.#text);
    const { title, author } = this.#info;
    return { title: title.trim(), ...(author && { author: author.trim() }), content: this.#writer.toString() };
  }

  #emit(piece: string): void {
    const { part, skipped } = this.#group;
    if (part) this.#info[part] = (this.#info[part] + piece).slice(0, 300);
    else if (!skipped) this.#text += piece;
  }

  #flushBytes(): void {
    if (this.#pending.length > 0) this.#emit(this.#decoder.decode(Uint8Array.from(this.#pending)));
    this.#pending = [];
  }

  #endParagraph(): void {
    this.#writer.paragraph(this.#text);
    this.#text = '';
  }

  /** What begins with a backslash at `at`. Gives the place behind it. */
  #control(at: number): number {
    WORD.lastIndex = at;
    const word = WORD.exec(this.#source);
    if (word) {
      const [all, name = '', digits] = word;
      this.#word(name, digits === undefined ? undefined : Number(digits));
      return at + all.length;
    }
    const symbol = this.#source[at + 1] ?? '';
    if (symbol === "'") {
      const byte = Number.parseInt(this.#source.slice(at + 2, at + 4), 16);
      if (this.#drop > 0) this.#drop -= 1;
      else if (Number.isFinite(byte)) this.#pending.push(byte);
      return at + 4;
    }
    if (symbol === '*') this.#group.skipped = true;
    else if (SYMBOLS[symbol] !== undefined) this.#emit(SYMBOLS[symbol]);
    else if (symbol === '\n' || symbol === '\r') this.#endParagraph();
    return at + 2;
  }

  #word(name: string, value: number | undefined): void {
    const group = this.#group;
    if (SKIPPED.has(name)) group.skipped = true;
    else if (name === 'title' || name === 'author') group.part = this.#stack.length > 1 ? name : undefined;
    else if (name === 'ansicpg') this.#decoder = decoderOf(value ?? 1252);
    else if (name === 'uc') group.spare = Math.min(Math.max(value ?? 1, 0), 8);
    else if (name === 'u') {
      this.#emit(String.fromCharCode((value ?? 0) & 0xffff));
      this.#drop = group.spare;
    } else if (name === 'intbl') this.#inCell = true;
    else if (name === 'pard') this.#inCell = false;
    else if (name === 'par' && this.#inCell) this.#emit(' ');
    else if (name === 'par' || name === 'sect' || name === 'page') {
      if (!group.skipped) this.#endParagraph();
    } else if (name === 'cell') {
      this.#row.push(joinSpaces(this.#text).trim());
      this.#text = '';
    } else if (name === 'row') {
      if (this.#row.length > 0) this.#writer.paragraph(this.#row.join(' | '));
      this.#row = [];
      this.#inCell = false;
    } else if (SYMBOLS[name] !== undefined) this.#emit(SYMBOLS[name]);
  }
}

function decoderOf(codePage: number): TextDecoder {
  const names: Readonly<Record<number, string>> = {
    932: 'shift_jis',
    936: 'gb18030',
    949: 'euc-kr',
    950: 'big5',
    65001: 'utf-8',
  };
  try {
    return new TextDecoder(names[codePage] ?? `windows-${codePage}`);
  } catch {
    return new TextDecoder('windows-1252');
  }
}
