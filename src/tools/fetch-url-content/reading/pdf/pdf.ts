import { getDocumentProxy, getMeta } from 'unpdf';
import { messageOf } from '../../../../base/errors.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { markdownTable } from '../markdown-table.ts';
import { CjkMaps } from './cjk-maps.ts';
import { annotationLines } from './pdf-annotations.ts';
import { inReadingOrder, type PlacedText, withoutRunningLines } from './pdf-layout.ts';
import { byDirection } from './pdf-rotation.ts';
import { stretchesOf } from './pdf-tables.ts';

/** What stands for a page without text: whoever reads has to know that something may be missing. */
const NO_TEXT = '(There is no text on this page; it may be a scanned image.)';

/**
 * The text of a PDF, page by page with `[Page n]` marks. Stops after the soft limit with the pages read so far.
 * @throws Error for files that are damaged, encrypted or have no text.
 */
export async function readPdf(bytes: Uint8Array, limits: { softLimitMs: number }): Promise<ParsedDocument> {
  // Its own time: how busy the machine is says nothing of the document.
  const before = process.cpuUsage();
  const options = {
    useSystemFonts: false,
    stopAtErrors: false,
    verbosity: 0,
    cMapPacked: false,
    BinaryDataFactory: CjkMaps,
  };
  const pdf = await getDocumentProxy(new Uint8Array(bytes), options).catch(explain);
  // What is on the screen takes a second pass over the text of each page with a link; what is printed does not.
  const intent = (await pdf.getFieldObjects().catch(() => null)) ? 'display' : 'print';
  const pages: string[] = [];
  const annotations: string[] = [];
  let length = 0;
  let incomplete: string | undefined;
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const turned = byDirection(items.flatMap((item) => ('str' in item ? [item] : [])));
    const text = joined(turned.map((pieces) => layOutPage(inReadingOrder(pieces))));
    // A page whose annotations are damaged still has its text.
    const written = annotationLines(await page.getAnnotations({ intent }).catch(() => []));
    annotations.push(written);
    page.cleanup();
    pages.push(text);
    length += text.length + written.length;
    const { user, system } = process.cpuUsage(before);
    const tooLate = (user + system) / 1000 > limits.softLimitMs;
    if (number < pdf.numPages && (tooLate || length > MAX_CONTENT)) {
      incomplete = `only pages 1 to ${number} of ${pdf.numPages} were read`;
      break;
    }
  }
  const texts = withoutRunningLines(pages).map((text, at) => joined([text, annotations[at] ?? '']));
  if (texts.every((text) => text === '')) throw new Error('the PDF has no text; it may consist of scanned images');
  return {
    ...(await describe(pdf, texts[0] ?? '')),
    content: texts.map((text, at) => `[Page ${at + 1}]\n\n${text || NO_TEXT}`).join('\n\n'),
    ...(incomplete ? { incomplete } : {}),
  };
}

async function describe(pdf: Awaited<ReturnType<typeof getDocumentProxy>>, firstPage: string) {
  const { info } = await getMeta(pdf).catch(() => ({ info: undefined }));
  const given = (name: string) => (typeof info?.[name] === 'string' ? info[name].trim() : '');
  const firstLine = firstPage.split('\n').find((line) => line.trim().length > 3) ?? '';
  const published = pdfDate(given('CreationDate'));
  const author = given('Author');
  return {
    title: given('Title') || firstLine.trim().slice(0, 200),
    ...(author ? { author } : {}),
    ...(published ? { published } : {}),
  };
}

/** `D:20240131...` as `2024-01-31`. */
function pdfDate(text: string): string | undefined {
  const match = /^D:(\d{4})(\d{2})?(\d{2})?/.exec(text);
  return match ? [match[1], match[2], match[3]].filter(Boolean).join('-') : undefined;
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** @throws Error with what a user can do about it. */
function explain(error: unknown): never {
  const isLocked = error instanceof Error && error.name === 'PasswordException';
  const reason = isLocked ? 'the PDF is encrypted with a password' : `the PDF is damaged: ${messageOf(error)}`;
  throw new Error(reason, { cause: error });
}

/** A page with its tables in Markdown, each a paragraph of its own. */
function layOutPage(pieces: readonly PlacedText[]): string {
  const texts = stretchesOf(pieces).map((stretch) => {
    if (stretch.kind === 'text') return layOut(stretch.pieces);
    const [head = [], ...body] = stretch.rows;
    return markdownTable(head, body);
  });
  return joined(texts);
}

/** Lines and paragraphs from placed pieces of text: a jump in height is a new line, a larger one a new paragraph. */
function layOut(pieces: readonly PlacedText[]): string {
  let text = '';
  let last: PlacedText | undefined;
  for (const piece of pieces) {
    if (piece.text === '') continue;
    if (last) text += separator(last, piece);
    text += piece.text;
    if (piece.text.trim() !== '') last = piece;
  }
  return text
    .replace(/(\p{Ll})-\n(\p{Ll})/gu, '$1$2')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function separator(last: PlacedText, next: PlacedText): string {
  const height = Math.max(last.height, next.height, 1);
  const drop = Math.abs(last.y - next.y);
  if (drop > height * 1.8) return '\n\n';
  if (drop > height * 0.5) return '\n';
  // Lines of Arabic and Hebrew go to the left.
  const gap = next.x < last.x ? last.x - (next.x + next.width) : next.x - (last.x + last.width);
  if (gap > height * 2) return '  ';
  return gap > height * 0.15 ? ' ' : '';
}
