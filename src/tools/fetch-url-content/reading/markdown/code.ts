import { trimBlankEdges } from '../../../text/trim-lines.ts';
import { type HtmlElement, type HtmlNode, lineOf, textOf } from '../html/tree.ts';
import { isBlockElement } from './inline.ts';
import { hasReadableText } from './readable-text.ts';

/** Writes code in a fence that is longer than any fence within it. */
export function codeBlock(element: HtmlElement): string {
  return fencedCode(codeText(element), codeLanguage(element));
}

export function fencedCode(code: string, language: string): string {
  const text = trimBlankEdges(code);
  if (text.trim() === '') return '';
  const longest = [...text.matchAll(/^[ \t]*(`{3,})/gm)].reduce(
    (length, [, run = '']) => Math.max(length, run.length),
    2,
  );
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** The source text of a code element, which highlighters split into tokens, and some into lines. */
export function codeText(element: HtmlElement): string {
  const pieces: string[] = [];
  let last = '\n';
  const add = (text: string) => {
    if (text === '') return;
    pieces.push(text);
    last = text.at(-1) ?? last;
  };
  const endLine = () => {
    if (last !== '\n') add('\n');
  };
  const visit = (node: HtmlNode, isWithinLine: boolean) => {
    if (typeof node === 'string') return add(node);
    if (node.name === 'br') return add('\n');
    if (!hasReadableText(node) || isLineNumber(node) || node.hasClass('hover-info')) return;
    const isLines = !isWithinLine && areLines(node.children);
    const isLine = isBlockElement(node);
    const numbers = numbersOf(node.elements);
    if (isLine) endLine();
    for (const child of node.children) {
      if (typeof child === 'string') {
        if (!isLines) add(child);
        continue;
      }
      if (numbers.has(child)) {
        if (isBlockElement(child)) endLine();
        for (const part of child.children.slice(1)) visit(part, true);
        if (isBlockElement(child)) endLine();
      } else visit(child, isWithinLine || isLines || isNamedLine(child));
      if (isLines && !endsWithBreak(child)) add('\n');
    }
    if (isLine) endLine();
  };
  visit(element, isNamedLine(element));
  return pieces.join('').replace(/\r\n?/g, '\n').replaceAll('\u00a0', ' ');
}

/** Whether sibling elements are one line of code each, without line breaks of their own. */
function areLines(children: readonly HtmlNode[]): boolean {
  const lines = children.filter((child) => typeof child !== 'string');
  const [first] = lines;
  if (first === undefined || lines.length < 2 || isBlockElement(first)) return false;
  const blanks = children.filter((child) => typeof child === 'string');
  if (blanks.some((text) => text.trim() !== '' || text.includes('\n'))) return false;
  if (lines.every(isNamedLine)) return true;
  const isUniform = lines.every((line) => line.name === first.name && styleOf(line) === styleOf(first));
  // Highlighted tokens have colours or classes of their own.
  const areTokens = first.attributes.style !== undefined || /(?:^|\s)(?:token|hljs)/.test(first.attribute('class'));
  return isUniform && !areTokens && !lines.some((line) => textOf(line).includes('\n') || endsWithBreak(line));
}

function isNamedLine({ attributes }: HtmlElement): boolean {
  const [kind = ''] = (attributes.class ?? '').trim().split(/\s+/);
  return 'data-line' in attributes || /(?:^|[_-])lines?(?:$|[_-])/.test(kind);
}

function styleOf({ attributes }: HtmlElement): string {
  return `${attributes.class} ${attributes.style}`;
}

/** The lines, if each begins with an element that holds its number: 1, 2, 3. */
function numbersOf(lines: readonly HtmlElement[]): Set<HtmlElement> {
  const numbers = lines.map(({ children }) => (children.length > 1 ? lineOf(children[0]) : ''));
  const start = Number(numbers[0] || Number.NaN);
  const isCounted = lines.length > 1 && numbers.every((number, at) => number !== '' && Number(number) === start + at);
  return new Set(isCounted ? lines : []);
}

function endsWithBreak(node: HtmlNode): boolean {
  if (typeof node === 'string') return node.endsWith('\n');
  const last = node.children.at(-1);
  return node.name === 'br' || (last !== undefined && endsWithBreak(last));
}

/** Whether an element is a line number: digits alone, marked as a number by class, style or attribute. */
export function isLineNumber(element: HtmlElement): boolean {
  const { class: names = '', style = '' } = element.attributes;
  const isMarked =
    /(?:^|[\s_-])(?:ln|lnt|lnos?|line-?n(?:o|r|um|umber)s?|linenos?|line-?numbers?[\w-]{0,20}|gutter|blob-num|rouge-gutter|hljs-ln-n\w{0,10})(?:$|[\s_-])/i.test(
      names,
    ) ||
    /user-select:\s*none/.test(style) ||
    element.attributes['data-line-number'] !== undefined;
  return isMarked && /^[\d\s]*$/.test(textOf(element));
}

/** The language that an element, its first descendants or its ancestors name; empty if none does. */
export function codeLanguage(element: HtmlElement): string {
  const ancestors = [element.parent, element.parent?.parent, element.parent?.parent?.parent];
  const [inner] = element.elements;
  for (const candidate of [inner, inner?.elements[0], element, ...ancestors]) {
    if (!candidate) continue;
    const { class: names = '', 'data-lang': lang, 'data-language': language } = candidate.attributes;
    const fromData = /^[\w+#.-]{1,20}$/.exec(lang ?? language ?? '')?.[0];
    const fromClass =
      /(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|src)-(?:source-)?([\w+#-]{1,20})/.exec(
        names,
      )?.[1] ?? /(?:^|\s)(?:sourceCode|brush:)\s*([\w+#-]{1,20})/.exec(names)?.[1];
    const found = fromData ?? fromClass;
    if (
      found &&
      !/^(?:highlight|default|none|plaintext|text|wrap|wrapper|container|line|lines|block|toolbar)$/i.test(found)
    )
      return found.toLowerCase();
  }
  return '';
}
