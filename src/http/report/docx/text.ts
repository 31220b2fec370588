import { xmlText } from './xml.ts';

/** How text looks. */
export interface TextStyle {
  bold?: boolean;
  italic?: boolean;
  strike?: boolean;
  code?: boolean;
  link?: boolean;
  /** Its paragraph reads from right to left. */
  rtl?: boolean;
  /** Line breaks stay. Without it they are spaces, as in Markdown. */
  lines?: boolean;
}

/** What a paragraph is. */
export interface ParagraphStyle {
  /** The id of its style; absent: plain text. */
  style?: string;
  list?: { id: number; level: number };
  /** From where its lines begin, and how far the first one stands out, in twentieths of a point. */
  indent?: number;
  hanging?: number;
  align?: 'left' | 'center' | 'right' | null;
  rtl?: boolean;
}

const LETTER = /\p{L}/u;
const RTL_LETTER = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;

/** Whether a text reads from right to left: its first letter decides. */
export function isRightToLeft(text: string): boolean {
  return RTL_LETTER.test(LETTER.exec(text)?.[0] ?? '');
}

/** A paragraph of runs, links and references. */
export function paragraph(content: string, about: ParagraphStyle = {}): string {
  const { style, list, indent = 0, hanging = 0, align, rtl } = about;
  // Word wants them in this order.
  const properties = [
    style === undefined ? '' : `<w:pStyle w:val="${style}"/>`,
    list ? `<w:numPr><w:ilvl w:val="${list.level}"/><w:numId w:val="${list.id}"/></w:numPr>` : '',
    rtl ? '<w:bidi/>' : '',
    indent > 0 ? `<w:ind w:left="${indent}"${hanging > 0 ? ` w:hanging="${hanging}"` : ''}/>` : '',
    align ? `<w:jc w:val="${align}"/>` : '',
  ].join('');
  return `<w:p>${properties === '' ? '' : `<w:pPr>${properties}</w:pPr>`}${content}</w:p>`;
}

/** Text as runs, one for each stretch that reads in one direction. */
export function textRuns(text: string, style: TextStyle = {}): string {
  return (RTL_LETTER.test(text) ? stretches(text) : [text])
    .map((stretch) => {
      // What has no letters reads as its paragraph does.
      const rtl = RTL_LETTER.test(stretch) || (style.rtl === true && !LETTER.test(stretch));
      return run(stretch, { ...style, rtl });
    })
    .join('');
}

/** A line break. */
export const LINE_BREAK = '<w:r><w:br/></w:r>';

function run(text: string, style: TextStyle): string {
  const content = style.lines ? text.split('\n').map(textElements).join('<w:br/>') : textElements(text);
  return content === '' ? '' : `<w:r>${runProperties(style)}${content}</w:r>`;
}

function textElements(line: string): string {
  return xmlText(line)
    .split('\t')
    .map((part) => (part === '' ? '' : `<w:t xml:space="preserve">${part.replaceAll('\n', ' ')}</w:t>`))
    .join('<w:tab/>');
}

function runProperties({ bold, italic, strike, code, link, rtl }: TextStyle): string {
  const style = link ? 'Hyperlink' : 'CodeText';
  // Word wants them in this order.
  const properties = [
    link || code ? `<w:rStyle w:val="${style}"/>` : '',
    bold ? '<w:b/><w:bCs/>' : '',
    italic ? '<w:i/><w:iCs/>' : '',
    strike ? '<w:strike/>' : '',
    rtl ? '<w:rtl/>' : '',
  ].join('');
  return properties === '' ? '' : `<w:rPr>${properties}</w:rPr>`;
}

/** A text cut where letters of the other direction begin. */
function stretches(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  let direction: boolean | undefined;
  for (const { 0: letter, index } of text.matchAll(/\p{L}/gu)) {
    const own = RTL_LETTER.test(letter);
    if (direction !== undefined && own !== direction) {
      found.push(text.slice(start, index));
      start = index;
    }
    direction = own;
  }
  return [...found, text.slice(start)];
}
