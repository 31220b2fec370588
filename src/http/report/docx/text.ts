import { xmlText } from './xml.ts';

/** The style of a run. */
export interface TextStyle {
  bold?: boolean;
  italic?: boolean;
  strike?: boolean;
  code?: boolean;
  link?: boolean;
  /** Whether the paragraph reads from right to left. */
  rtl?: boolean;
  /** Whether line breaks are kept; otherwise they become spaces, as in Markdown. */
  lines?: boolean;
}

export interface ParagraphStyle {
  /** The id of the style; absent: plain text. */
  style?: string;
  list?: { id: number; level: number };
  /** The indent of the lines, and how far the first line sticks out to the left of it, in twentieths of a point. */
  indent?: number;
  hanging?: number;
  align?: 'left' | 'center' | 'right' | null;
  rtl?: boolean;
}

const LETTER = /\p{L}/u;
const RTL_LETTER = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;

/** Whether a text reads from right to left. Its first letter decides; without letters it is `otherwise`. */
export function isRightToLeft(text: string, otherwise = false): boolean {
  const letter = LETTER.exec(text)?.[0];
  return letter === undefined ? otherwise : RTL_LETTER.test(letter);
}

/** A paragraph of runs, links and references. */
export function paragraph(content: string, about: ParagraphStyle = {}): string {
  const { style, list, indent = 0, hanging = 0, align, rtl } = about;
  // Word requires this order.
  const properties = [
    style === undefined ? '' : `<w:pStyle w:val="${style}"/>`,
    list ? `<w:numPr><w:ilvl w:val="${list.level}"/><w:numId w:val="${list.id}"/></w:numPr>` : '',
    rtl ? '<w:bidi/>' : '',
    indent > 0 ? `<w:ind w:left="${indent}"${hanging > 0 ? ` w:hanging="${hanging}"` : ''}/>` : '',
    align ? `<w:jc w:val="${align}"/>` : '',
  ].join('');
  return `<w:p>${properties === '' ? '' : `<w:pPr>${properties}</w:pPr>`}${content}</w:p>`;
}

/** Text as runs, one for each stretch with one direction. */
export function textRuns(text: string, style: TextStyle = {}): string {
  return (RTL_LETTER.test(text) || style.rtl ? stretches(text, style.rtl === true) : [text])
    .map((stretch) => {
      // A stretch without letters has the direction of its paragraph.
      const rtl = RTL_LETTER.test(stretch) || (style.rtl === true && !LETTER.test(stretch));
      return run(stretch, { ...style, rtl });
    })
    .join('');
}

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
  // Word requires this order.
  const properties = [
    link || code ? `<w:rStyle w:val="${style}"/>` : '',
    bold ? '<w:b/><w:bCs/>' : '',
    italic ? '<w:i/><w:iCs/>' : '',
    strike ? '<w:strike/>' : '',
    rtl ? '<w:rtl/>' : '',
  ].join('');
  return properties === '' ? '' : `<w:rPr>${properties}</w:rPr>`;
}

/**
 * Splits a text where the direction of its letters changes. Characters between two directions belong to that of the
 * paragraph, and so does a closing bracket that was opened in an earlier stretch: `(old tea) 123`.
 */
function stretches(text: string, rtl: boolean): string[] {
  const found: string[] = [];
  let start = 0;
  let lastEnd = 0;
  let openBrackets = 0;
  let direction: boolean | undefined;
  for (const { 0: character, index } of text.matchAll(/[\p{L}\p{M}\p{N}\p{Ps}\p{Pe}]/gu)) {
    if (/\p{Ps}/u.test(character)) openBrackets++;
    const closes = /\p{Pe}/u.test(character) && --openBrackets < 0;
    const own = LETTER.test(character) ? RTL_LETTER.test(character) : closes ? rtl : direction;
    if (direction !== undefined && own !== direction) {
      const cut = direction === rtl ? index : lastEnd;
      found.push(text.slice(start, cut));
      start = cut;
      openBrackets = 0;
    }
    direction = own;
    lastEnd = index + character.length;
  }
  return [...found, text.slice(start)];
}
