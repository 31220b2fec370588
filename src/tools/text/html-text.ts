import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { removeMarkup } from './strip-markup.ts';
import { trimLines } from './trim-lines.ts';

export interface PlainPage {
  /** The content of `<title>`, else the first heading; empty if there is neither. */
  title: string;
  text: string;
}

/** Elements whose content is not for reading. They are left out only if they are closed. */
const SKIPPED = new Set('script style noscript template svg math iframe select nav footer'.split(' '));
const FOREIGN = new Set(['svg', 'math']);
const SKIPPED_ENDS = new RegExp(`</(${[...SKIPPED].join('|')})`, 'gi');

const BLOCKS = new Set(
  'address article aside blockquote br dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);

const MAX_TITLE = 300;

const HEADING = /^h([1-6])$/;

/**
 * Strips HTML in one pass, without a tree or recursion, in linear time for any input. The local index uses it, and the
 * parser in the child process falls back to it.
 */
export function htmlToText(html: string): PlainPage {
  const page = new TextExtractor(html);
  const tokenizer = new Tokenizer({ decodeEntities: false }, page);
  tokenizer.write(html);
  tokenizer.end();
  return page.read();
}

class TextExtractor implements TokenizerCallbacks {
  readonly #html: string;
  readonly #out: string[] = [];
  /** The start of the last end tag of each skipped element. */
  readonly #lastEnds = new Map<string, number>();
  /** The open tag that is being read. */
  #opening = { name: '', start: 0 };
  /** The name of the element that is being skipped. */
  #skipped = '';
  #title: string | undefined;
  #inTitle = false;
  /** The start of the open heading in `#out`. */
  #heading: number | undefined;
  #firstHeading = '';

  constructor(html: string) {
    this.#html = html;
    for (const { 1: name = '', index } of html.matchAll(SKIPPED_ENDS)) this.#lastEnds.set(name.toLowerCase(), index);
  }

  read(): PlainPage {
    const title = this.#title?.trim() || this.#firstHeading;
    const text = trimLines(
      this.#out
        .join('')
        .replace(/[ \t]+/g, ' ')
        .replaceAll('\n ', '\n'),
    );
    return { title: title.slice(0, MAX_TITLE), text };
  }

  ontext(start: number, end: number): void {
    const text = removeMarkup(this.#html.slice(start, end));
    if (this.#inTitle) this.#title += text;
    else if (this.#skipped === '') this.#out.push(text);
  }

  onopentagname(start: number, end: number): void {
    this.#opening = { name: this.#html.slice(start, end).toLowerCase(), start };
  }

  onopentagend(): void {
    const { name, start } = this.#opening;
    // As in browsers, a block ends an SVG drawing or a formula.
    if (FOREIGN.has(this.#skipped) && BLOCKS.has(name)) this.#skipped = '';
    if (this.#skipped !== '') return;
    if (name === 'title' && this.#title === undefined) {
      this.#title = '';
      this.#inTitle = true;
    } else if (SKIPPED.has(name) && (this.#lastEnds.get(name) ?? 0) > start) this.#skipped = name;
    else this.#open(name);
  }

  onselfclosingtag(): void {
    this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase();
    if (name === 'title') this.#inTitle = false;
    if (this.#skipped === '') this.#close(name);
    else if (this.#skipped === name) this.#skipped = '';
  }

  /** CDATA occurs only in feeds, where it is text with markup. */
  oncdata(start: number, end: number, endOffset: number): void {
    if (this.#skipped === '') this.#out.push(removeMarkup(this.#html.slice(start, end - endOffset)));
  }

  #open(name: string): void {
    const level = levelOf(name);
    if (level > 0) {
      this.#out.push(`\n\n${'#'.repeat(level)} `);
      this.#heading = this.#out.length;
    } else if (name === 'li') this.#out.push('\n- ');
    else this.#break(name);
  }

  #close(name: string): void {
    if (levelOf(name) > 0 && this.#heading !== undefined) {
      this.#firstHeading ||= this.#out.slice(this.#heading).join('').trim();
      this.#heading = undefined;
      this.#out.push('\n\n');
    } else if (name === 'td' || name === 'th') this.#out.push(' | ');
    else this.#break(name);
  }

  #break(name: string): void {
    if (name === 'p' || name === 'table' || name === 'pre' || name === 'blockquote') this.#out.push('\n\n');
    else if (BLOCKS.has(name)) this.#out.push('\n');
  }

  onattribdata(): void {}
  onattribend(): void {}
  onattribentity(): void {}
  onattribname(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}
  ontextentity(): void {}
}

function levelOf(name: string): number {
  return Number(HEADING.exec(name)?.[1] ?? 0);
}
