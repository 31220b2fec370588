import { Parser } from 'htmlparser2';
import { onOneLine } from '../../../../base/text.ts';

/** An element of a page, or its text: references are decoded, white space is as it was written. */
export type HtmlNode = HtmlElement | string;

export class HtmlElement {
  name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly parent: HtmlElement | undefined;
  children: HtmlNode[] = [];
  /** What it holds, once it was measured. In characters where nothing else is said. */
  size: Size = EMPTY;
  /** What stands around the text of the page; the writer leaves it out. */
  isClutter = false;
  /** Text of the page, whatever else is seen of it: its markup says so. */
  isText = false;
  /** Whether something in it stands on lines of its own. */
  holdsBlocks = false;
  /** Of an image: which block of the page holds or follows it. */
  before = 0;
  /** How many elements it holds itself, and how many beside it, with it, have its name and its classes. */
  count = 0;
  alike = 1;

  /** `name` is in lower case. */
  constructor(name: string, attributes: Readonly<Record<string, string>>, parent: HtmlElement | undefined) {
    this.name = name;
    this.attributes = attributes;
    this.parent = parent;
  }

  attribute(name: string): string {
    return this.attributes[name] ?? '';
  }

  /** Whether one of its classes is this one. */
  hasClass(name: string): boolean {
    const names = this.attributes.class;
    return names?.includes(name) === true && names.split(/\s+/).includes(name);
  }

  get elements(): HtmlElement[] {
    return this.children.filter((child) => typeof child !== 'string');
  }
}

/** How much of what an element holds. */
export interface Size {
  text: number;
  /** Of it, in links. */
  linked: number;
  /** Of it, in paragraphs that are sentences, and not links. */
  prose: number;
  /** Blocks of prose, and links and headings, counted. */
  paragraphs: number;
  links: number;
  headings: number;
  /** Fields that a reader would write into. */
  fields: number;
}

export const EMPTY: Size = Object.freeze({
  text: 0,
  linked: 0,
  prose: 0,
  paragraphs: 0,
  links: 0,
  headings: 0,
  fields: 0,
});

/** A page as a tree, without what is no text. */
export interface HtmlPage {
  body: HtmlElement;
  /** Attributes of `<html>`. */
  root: Readonly<Record<string, string>>;
  title: string;
  /** Attributes of each `<meta>` and `<link>`. */
  metas: Readonly<Record<string, string>>[];
  base: string;
  /** Contents of `application/ld+json` scripts. */
  structuredData: string[];
  /** Contents of `application/json` scripts, and objects that a script sets as a global value: others make the page of them. */
  data: string[];
}

/** Beyond these a page takes longer than it is worth. The parser's time for an element grows with its depth. */
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 400;
const MAX_LENGTH = 8_000_000;
const MAX_METAS = 500;
const MAX_STRUCTURED_DATA = 20;
/** The parser's time for a tag grows with the square of its attributes. In characters. */
const LONGEST_TAG = 16_384;

/** Elements that go with all they contain. */
const DROPPED = new Set('script style template svg iframe object canvas audio video select datalist map'.split(' '));
/** A script that sets one global value: `window.__INITIAL_STATE__ = {`. */
const STATE = /^\s*(?:window|self|globalThis)(?:\.[\w$]+|\[["'][\w$]+["']\])\s*=\s*(?=[{[])/;
const LONGEST_START = 200;

/** The value that such a script sets; empty where it is another. */
function stateIn(script: string): string {
  const start = STATE.exec(script.slice(0, LONGEST_START))?.[0].length;
  const end = Math.max(script.lastIndexOf('}'), script.lastIndexOf(']'));
  return start === undefined ? '' : script.slice(start, end + 1);
}

/** Tags that browsers put where they belong, wherever they are written. */
const STRUCTURE = new Set(['html', 'head', 'body']);

/** Parses a page; undefined for one that is too large or too deep. */
export function parseHtml(html: string): HtmlPage | undefined {
  if (html.length > MAX_LENGTH) return undefined;
  const builder = new TreeBuilder(html, 0);
  return builder.isTooMuch ? undefined : builder.page;
}

/**
 * XML as a tree, names in lower case with their prefixes; undefined for what is too large or too deep. Entities that a
 * document defines for itself are not expanded.
 */
export function parseXml(xml: string): HtmlElement | undefined {
  if (xml.length > MAX_LENGTH) return undefined;
  const root = new HtmlElement('', {}, undefined);
  let open = root;
  let depth = 0;
  let count = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        count += 1;
        if (isTooMuch()) return parser.pause();
        const element = new HtmlElement(name, attributes, open);
        open.children.push(element);
        open = element;
      },
      onclosetag() {
        depth -= 1;
        open = open.parent ?? open;
      },
      ontext: (text) => void open.children.push(text),
    },
    { xmlMode: true, lowerCaseTags: true },
  );
  const isTooMuch = () => depth > MAX_DEPTH || count > MAX_ELEMENTS;
  parser.end(xml);
  return isTooMuch() ? undefined : root;
}

class TreeBuilder {
  readonly page: HtmlPage;
  isTooMuch = false;
  readonly #level: number;
  readonly #parser: Parser;
  #open: HtmlElement;
  #depth = 0;
  #elements = 0;
  /** The element that is left out: its depth, and its text. */
  #out: { element: HtmlElement; depth: number; text: string } | undefined;
  #hasTitle = false;

  /** `level`: how many documents are around this one; MathML in a script is one inside of another. */
  constructor(html: string, level: number) {
    this.#level = level;
    this.#open = new HtmlElement('body', {}, undefined);
    this.page = { body: this.#open, root: {}, title: '', metas: [], base: '', structuredData: [], data: [] };
    this.#parser = new Parser({
      onopentag: (name, attributes) => this.#onOpen(name, attributes),
      onclosetag: (name) => this.#onClose(name),
      ontext: (text) => this.#onText(text),
    });
    this.#parser.end(html);
  }

  #onText(text: string): void {
    if (this.#out) {
      this.#out.text += text;
      return;
    }
    const { children } = this.#open;
    const last = children.at(-1);
    if (typeof last === 'string') children[children.length - 1] = last + text;
    else children.push(text);
  }

  #onOpen(prefixed: string, given: Record<string, string>): void {
    this.#depth += 1;
    this.#elements += 1;
    if (this.#depth > MAX_DEPTH || this.#elements > MAX_ELEMENTS) {
      this.isTooMuch = true;
      this.#parser.pause();
      return;
    }
    const name = nameOf(prefixed);
    if (this.#out) {
      this.#keepDrawnFormula(given);
      return;
    }
    const isLong = this.#parser.endIndex - this.#parser.startIndex > LONGEST_TAG;
    const attributes = isLong ? {} : given;
    if (STRUCTURE.has(name)) {
      if (name !== 'head') this.page.root = { ...attributes, ...this.page.root };
      return;
    }
    if (name === 'meta' || name === 'link' || name === 'base') {
      if (this.page.metas.length < MAX_METAS) this.page.metas.push(attributes);
      if (name === 'base') this.page.base ||= attributes.href ?? '';
      if (name !== 'meta' || !attributes.itemprop) return;
    }
    const element = new HtmlElement(name, attributes, this.#open);
    const isDropped = DROPPED.has(name) && !(name === 'template' && attributes.shadowrootmode !== undefined);
    if (isDropped || (name === 'title' && !this.#hasTitle)) {
      this.#out = { element, depth: this.#depth, text: '' };
      // A sign in a cell says what the cell says.
      const label = name === 'svg' && /^t[dh]$|^span$/.test(this.#open.name) ? attributes['aria-label'] : undefined;
      if (label) this.#open.children.push(new HtmlElement('span', { 'aria-label': label }, this.#open));
      return;
    }
    this.#open.children.push(element);
    this.#open = element;
  }

  #onClose(prefixed: string): void {
    this.#depth -= 1;
    if (this.#out) {
      if (this.#depth < this.#out.depth) this.#leftOut();
      return;
    }
    const name = nameOf(prefixed);
    if (this.#open.name === name && this.#open.parent) this.#open = this.#open.parent;
  }

  /** Keeps what is worth keeping of an element that was left out. */
  #leftOut(): void {
    if (!this.#out) return;
    const { element, text } = this.#out;
    const type = element.attribute('type');
    this.#out = undefined;
    if (element.name === 'title') {
      this.#hasTitle = true;
      this.page.title = onOneLine(text);
    } else if (element.name !== 'script') return;
    else if (/^\s*math\//i.test(type)) this.#keepFormula(type, text);
    else if (/ld\+json/i.test(type) && this.page.structuredData.length < MAX_STRUCTURED_DATA) {
      this.page.structuredData.push(text);
    } else if (this.page.data.length < MAX_STRUCTURED_DATA) {
      const data = type === 'application/json' ? text : stateIn(text);
      if (data !== '') this.page.data.push(data);
    }
  }

  /** MathJax draws into an `svg` that says what it draws. */
  #keepDrawnFormula({ 'data-latex': source = '' }: Record<string, string>): void {
    const out = this.#out;
    if (source === '' || out?.element.name !== 'svg' || out.element.children.length > 0) return;
    out.element.children.push(source);
    this.#open.children.push(new HtmlElement('span', { 'data-latex': source }, this.#open));
  }

  #keepFormula(type: string, source: string): void {
    const display: Record<string, string> = /mode=display/i.test(type) ? { display: 'true' } : {};
    if (!/mml/i.test(type)) {
      if (source === '') return;
      const attributes = { 'data-formula-script': '', 'data-tex': source, ...display };
      this.#open.children.push(new HtmlElement('span', attributes, this.#open));
    } else if (this.#level === 0) {
      const { page, isTooMuch } = new TreeBuilder(source, 1);
      this.isTooMuch ||= isTooMuch;
      const drawn = new HtmlElement('span', { 'data-formula-script': '' }, this.#open);
      drawn.children = page.body.children;
      this.#open.children.push(drawn);
    }
  }
}

/** `<m:math>` of XHTML is `<math>`, `<amp-img>` of AMP is `<img>`. */
function nameOf(name: string): string {
  if (name === 'amp-img') return 'img';
  return name.includes(':') ? name.replace(/^(?:m|mml):/, '') : name;
}

/** Every element below `root`, in the order of the page. */
export function elementsBelow(root: HtmlElement, found: HtmlElement[] = []): HtmlElement[] {
  for (const child of root.children) {
    if (typeof child === 'string') continue;
    found.push(child);
    elementsBelow(child, found);
  }
  return found;
}

/** The first element below `root` that fits. */
export function findElement(root: HtmlElement, fits: (element: HtmlElement) => boolean): HtmlElement | undefined {
  for (const child of root.children) {
    if (typeof child === 'string') continue;
    const found = fits(child) ? child : findElement(child, fits);
    if (found) return found;
  }
  return undefined;
}

/** The nearest element that fits: this one, or one around it. */
export function closest(
  element: HtmlElement | undefined,
  fits: (element: HtmlElement) => boolean,
): HtmlElement | undefined {
  for (let each = element; each; each = each.parent) if (fits(each)) return each;
  return undefined;
}

/** Whether a browser does not show an element before something is clicked. */
export function isHidden({ attributes }: HtmlElement): boolean {
  const { hidden, style = '', 'aria-hidden': isUnheard } = attributes;
  return hidden !== undefined || isUnheard === 'true' || /display:\s*none/.test(style);
}

/** All text of a node as it was written. */
export function textOf(node: HtmlNode): string {
  if (typeof node === 'string') return node;
  const { children } = node;
  if (node.name === 'br') return '\n';
  if (children.length === 1) return textOf(children[0] ?? '');
  let text = '';
  for (const child of children) text += textOf(child);
  return text;
}

/** The beginning of the text of a node, at least so many characters of it where there are as many. */
export function beginningOf(node: HtmlNode, length: number): string {
  if (typeof node === 'string') return node.slice(0, length);
  let text = '';
  for (const child of node.children) {
    text += beginningOf(child, length);
    if (text.length >= length) break;
  }
  return text;
}

/** The text of a node on one line. */
export function lineOf(node: HtmlNode | undefined): string {
  return node === undefined ? '' : onOneLine(textOf(node));
}
