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

/** A rich text file. One pass over its characters; groups cost a stack of small objects. */
export function readRtf(bytes: Uint8Array): ParsedDocument {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const writer = new DocumentWriter();
  const info = { title: '', author: '' };
  const stack: Group[] = [];
  let group: Group = { skipped: false, spare: 1, part: undefined };
  let decoder = new TextDecoder('windows-1252');
  let text = '';
  let pending: number[] = [];
  let drop = 0;
  let row: string[] = [];
  let inCell = false;

  const emit = (piece: string) => {
    if (group.part) info[group.part] = (info[group.part] + piece).slice(0, 300);
    else if (!group.skipped) text += piece;
  };
  const flushBytes = () => {
    if (pending.length > 0) emit(decoder.decode(Uint8Array.from(pending)));
    pending = [];
  };
  const endParagraph = () => {
    writer.paragraph(text);
    text = '';
  };
  for (let at = 0; at < source.length && !writer.isFull; ) {
    const character = source[at] ?? '';
    if (character !== '\\' || source[at + 1] !== "'") flushBytes();
    if (character === '{') {
      if (stack.length > 10_000) break;
      stack.push(group);
      group = { ...group };
      at += 1;
    } else if (character === '}') {
      group = stack.pop() ?? group;
      at += 1;
    } else if (character === '\\') {
      const word = /^\\([a-z]{1,32})(-?\d{1,9})? ?/i.exec(source.slice(at, at + 48));
      if (word) {
        at += word[0].length;
        const [, name = '', digits] = word;
        const value = digits === undefined ? undefined : Number(digits);
        if (SKIPPED.has(name)) group.skipped = true;
        else if (name === 'title' || name === 'author') group.part = stack.length > 1 ? name : undefined;
        else if (name === 'ansicpg') decoder = decoderOf(value ?? 1252);
        else if (name === 'uc') group.spare = Math.min(Math.max(value ?? 1, 0), 8);
        else if (name === 'u') {
          emit(String.fromCharCode((value ?? 0) & 0xffff));
          drop = group.spare;
        } else if (name === 'intbl') inCell = true;
        else if (name === 'pard') inCell = false;
        else if (name === 'par' && inCell) emit(' ');
        else if (name === 'par' || name === 'sect' || name === 'page') {
          if (!group.skipped) endParagraph();
        } else if (name === 'cell') {
          row.push(text.replace(/\s+/g, ' ').trim());
          text = '';
        } else if (name === 'row') {
          if (row.length > 0) writer.paragraph(row.join(' | '));
          row = [];
          inCell = false;
        } else if (SYMBOLS[name] !== undefined) emit(SYMBOLS[name]);
      } else if (source[at + 1] === "'") {
        const byte = Number.parseInt(source.slice(at + 2, at + 4), 16);
        at += 4;
        if (drop > 0) drop -= 1;
        else if (Number.isFinite(byte)) pending.push(byte);
      } else {
        const symbol = source[at + 1] ?? '';
        if (symbol === '*') group.skipped = true;
        else if (SYMBOLS[symbol] !== undefined) emit(SYMBOLS[symbol]);
        else if (symbol === '\n' || symbol === '\r') endParagraph();
        at += 2;
      }
    } else {
      if (drop > 0) drop -= 1;
      else if (character !== '\r' && character !== '\n') emit(character);
      at += 1;
    }
  }
  flushBytes();
  writer.paragraph(text);
  return {
    title: info.title.trim(),
    ...(info.author ? { author: info.author.trim() } : {}),
    content: writer.toString(),
  };
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
