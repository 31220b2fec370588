import { getDocumentProxy, getMeta } from 'unpdf';
import { messageOf } from '../../../../base/errors.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { markdownTable } from '../markdown-table.ts';
import { CjkMaps } from './cjk-maps.ts';
import { annotationLines } from './pdf-annotations.ts';
import { headingsAmong, type PlacedLine, TextSizes } from './pdf-headings.ts';
import {
  inReadingDirection,
  isVertical,
  joinVertical,
  type PlacedText,
  removeRunningLines,
  sortForReading,
} from './pdf-layout.ts';
import { groupByDirection } from './pdf-rotation.ts';
import { sectionsOf } from './pdf-tables.ts';

/** The placeholder for a page without text: the reader must know that something may be missing. */
const NO_TEXT = '(There is no text on this page; it may be a scanned image.)';

/** The placeholder for a page that cannot be read. */
const DAMAGED = '(This page is damaged.)';

/**
 * Reads the text of a PDF, page by page with `[Page n]` marks. After the soft limit it stops with the pages read so far.
 * @throws Error if the file is damaged or encrypted, or has no text.
 */
export async function readPdf(bytes: Uint8Array, limits: { softLimitMs: number }): Promise<ParsedDocument> {
  // The limit is on the CPU time of the process: how busy the machine is says nothing about the document.
  const startUsage = process.cpuUsage();
  const options = {
    useSystemFonts: false,
    stopAtErrors: false,
    verbosity: 0,
    cMapPacked: false,
    BinaryDataFactory: CjkMaps,
  };
  const pdf = await getDocumentProxy(new Uint8Array(bytes), options).catch(explain);
  // The intent `display` costs a second pass over the text of each page with a link, so only forms get it.
  const intent = (await pdf.getFieldObjects().catch(() => null)) ? 'display' : 'print';
  const pages: string[] = [];
  const annotations: string[] = [];
  const sizes = new TextSizes();
  let length = 0;
  let incomplete: string | undefined;
  for (let number = 1; number <= pdf.numPages; number++) {
    try {
      const { text, annotated } = await readPage(await pdf.getPage(number), { sizes, intent });
      pages.push(text);
      annotations.push(annotated);
    } catch {
      // The other pages may be whole.
      pages.push('');
      annotations.push(DAMAGED);
    }
    length += (pages.at(-1)?.length ?? 0) + (annotations.at(-1)?.length ?? 0);
    const { user, system } = process.cpuUsage(startUsage);
    const isLate = (user + system) / 1000 > limits.softLimitMs;
    if (number < pdf.numPages && (isLate || length > MAX_CONTENT)) {
      incomplete = `only pages 1 to ${number} of ${pdf.numPages} were read`;
      break;
    }
  }
  const texts = removeRunningLines(pages).map((text, at) => joinTexts([text, annotations[at] ?? '']));
  if (annotations.every((text) => text === DAMAGED)) explain(new Error('none of its pages can be read'));
  if (texts.every((text) => text === '')) throw new Error('the PDF has no text; it may consist of scanned images');
  return {
    ...(await describe(pdf, (texts[0] ?? '').replace(DAMAGED, ''))),
    content: texts.map((text, at) => `[Page ${at + 1}]\n\n${text || NO_TEXT}`).join('\n\n'),
    ...(incomplete ? { incomplete } : {}),
  };
}

/** Reads the text of a page and of its annotations. */
async function readPage(
  page: Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>,
  { sizes, intent }: { sizes: TextSizes; intent: string },
): Promise<{ text: string; annotated: string }> {
  const { items } = await page.getTextContent();
  const groups = groupByDirection(items.flatMap((item) => ('str' in item ? [item] : [])));
  for (const pieces of groups) sizes.add(pieces);
  // Lines in another direction are labels and margins.
  const { usual } = sizes;
  const text = joinTexts(
    groups.map((pieces, at) => layOutPage(sortForReading(joinVertical(pieces)), at === 0 ? usual : 0)),
  );
  // A page with damaged annotations still has its text.
  const annotated = annotationLines(await page.getAnnotations({ intent }).catch(() => []));
  page.cleanup();
  return { text, annotated };
}

async function describe(pdf: Awaited<ReturnType<typeof getDocumentProxy>>, firstPage: string) {
  const { info } = await getMeta(pdf).catch(() => ({ info: undefined }));
  const property = (name: string) => (typeof info?.[name] === 'string' ? info[name].trim() : '');
  const [firstLine = ''] = firstPage.split('\n').flatMap((line) => /^(?:#+ )?(.{4,})/.exec(line.trim())?.[1] ?? []);
  return {
    title: property('Title') || firstLine.trim().slice(0, 200),
    author: property('Author'),
    published: pdfDate(property('CreationDate')),
  };
}

/** Converts `D:20240131...` to `2024-01-31`. */
function pdfDate(text: string): string | undefined {
  const match = /^D:(\d{4})(\d{2})?(\d{2})?/.exec(text);
  return match ? [match[1], match[2], match[3]].filter(Boolean).join('-') : undefined;
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** @throws Error that says what is wrong with the file. */
function explain(error: unknown): never {
  const isLocked = error instanceof Error && error.name === 'PasswordException';
  const reason = isLocked ? 'the PDF is encrypted with a password' : `the PDF is damaged: ${messageOf(error)}`;
  throw new Error(reason, { cause: error });
}

/** Writes a page, with each table as a Markdown table between the paragraphs. */
function layOutPage(pieces: readonly PlacedText[], usualSize: number): string {
  const texts = sectionsOf(pieces).map((section) => {
    if (section.kind === 'text') return layOut(section.pieces, usualSize);
    const [head = [], ...body] = section.rows;
    return markdownTable(head, body);
  });
  return joinTexts(texts);
}

/** Joins pieces of text to lines, headings and paragraphs. */
function layOut(pieces: readonly PlacedText[], usualSize: number): string {
  const texts = headingsAmong(linesIn(pieces), usualSize).map(({ level, lines }) => {
    const text = lines.map((line, at) => (at > 0 && level > 0 ? ' ' : line.gap) + line.text).join('');
    return level > 0 ? `\n\n${'#'.repeat(level)} ${text.trim()}\n\n` : text;
  });
  return texts
    .join('')
    .replace(/(\p{Ll})[-\u2010]\n(\p{Ll})/gu, '$1$2')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** The lines of a text: a vertical jump begins a line, a larger one a paragraph. */
function linesIn(pieces: readonly PlacedText[]): PlacedLine[] {
  const lines: PlacedLine[] = [];
  let last: PlacedText | undefined;
  for (const piece of inReadingDirection(pieces)) {
    if (piece.text === '') continue;
    const between = last ? separator(last, piece) : '';
    const line = lines.at(-1);
    if (line && !between.startsWith('\n')) {
      line.text += between + piece.text;
      line.pieces.push(piece);
    } else lines.push({ gap: between, text: piece.text, pieces: [piece] });
    if (piece.text.trim() !== '') last = piece;
  }
  return lines;
}

function separator(last: PlacedText, next: PlacedText): string {
  const height = Math.max(last.height, next.height, 1);
  const drop = Math.abs(last.y - next.y);
  if (drop > height * 1.8) return '\n\n';
  if (drop > height * 0.5) return '\n';
  if (isVertical(last) && isVertical(next)) return '';
  // Arabic and Hebrew run from right to left.
  const gap = next.x < last.x ? last.x - (next.x + next.width) : next.x - (last.x + last.width);
  if (gap > height * 2) return '  ';
  return gap > height * 0.15 ? ' ' : '';
}
