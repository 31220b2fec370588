import { Parser } from 'htmlparser2';
import { toSingleLine } from '../../../../base/text.ts';
import { stateIn } from './script-state.ts';

/** An element or a text of a page: character references are decoded, white space is unchanged. */
export type HtmlNode = HtmlElement | string;

export class HtmlElement {
  name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly parent: HtmlElement | undefined;
  children: HtmlNode[] = [];
  /** How much it holds, once it is measured. */
  size: ElementSize = EMPTY_SIZE;
  /** It is not part of the main text, so the Markdown leaves it out. */
  isClutter = false;
  /** Its markup says that it is part of the main text, which overrules every other sign. */
  isMarkedText = false;
  /** Whether it contains block elements. */
  holdsBlocks = false;
  /** For an image: the index of the block that contains or follows it. */
  blockIndex = 0;
  /** How many child elements it has, and how many siblings, itself included, have its name and its classes. */
  elementCount = 0;
  alikeCount = 1;

  /** `name` is in lower case. */
  constructor(name: string, attributes: Readonly<Record<string, string>>, parent: HtmlElement | undefined) {
    this.name = name;
    this.attributes = attributes;
    this.parent = parent;
  }

  attribute(name: string): string {
    return this.attributes[name] ?? '';
  }

  hasClass(name: string): boolean {
    const names = this.attributes.class;
    return names?.includes(name) === true && names.split(/\s+/).includes(name);
  }

  get elements(): HtmlElement[] {
    return this.children.filter((child) => typeof child !== 'string');
  }
}

/** How much an element holds; lengths are in characters. */
export interface ElementSize {
  text: number;
  /** The part of `text` in links. */
  linked: number;
  /** The part of `text` in paragraphs of sentences. */
  prose: number;
  /** How many blocks of prose, links and headings there are. */
  paragraphs: number;
  links: number;
  headings: number;
  /** How many fields there are for a reader to write into. */
  fields: number;
}

export const EMPTY_SIZE: ElementSize = Object.freeze({
  text: 0,
  linked: 0,
  prose: 0,
  paragraphs: 0,
  links: 0,
  headings: 0,
  fields: 0,
});

/** A page as a tree, without elements that hold no text. */
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
  /** Contents of `application/json` scripts, and objects that a script assigns to a global: other scripts render them. */
  data: string[];
}

/** Larger pages take longer than they are worth: the parser's time for an element grows with its depth. */
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 400;
const MAX_LENGTH = 8_000_000;
const MAX_METAS = 500;
const MAX_STRUCTURED_DATA = 20;
/** The parser's time for a tag grows with the square of its attributes. In characters. */
const MAX_TAG_LENGTH = 16_384;

/** Elements that are dropped with all they contain. */
const DROPPED = new Set(
  'script style template svg iframe object canvas audio video select datalist map noframes'.split(' '),
);

/** Tags that browsers move to their place, wherever they are written. */
const STRUCTURE = new Set(['html', 'head', 'body']);

/** Parses a page; undefined for one that is too large or too deep. */
export function parseHtml(html: string): HtmlPage | undefined {
  if (html.length > MAX_LENGTH) return undefined;
  const builder = new TreeBuilder(html, 0);
  return builder.isTooLarge ? undefined : builder.page;
}

/**
 * Parses XML into a tree, with names in lower case; undefined if it is too large or too deep. Entities that a
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
        if (isTooLarge()) return parser.pause();
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
  const isTooLarge = () => depth > MAX_DEPTH || count > MAX_ELEMENTS;
  parser.end(xml);
  return isTooLarge() ? undefined : root;
}

class TreeBuilder {
  readonly page: HtmlPage;
  isTooLarge = false;
  readonly #level: number;
  readonly #parser: Parser;
  #open: HtmlElement;
  #depth = 0;
  #elements = 0;
  /** The dropped element that the parser is inside of, with its depth and text. */
  #dropped: { element: HtmlElement; depth: number; text: string } | undefined;
  #hasTitle = false;

  /** `level`: how many documents contain this one; MathML in a script is parsed as a document of its own. */
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
    if (this.#dropped) {
      this.#dropped.text += text;
      return;
    }
    const { children } = this.#open;
    const last = children.at(-1);
    if (typeof last === 'string') children[children.length - 1] = last + text;
    else children.push(text);
  }

  #onOpen(prefixed: string, allAttributes: Record<string, string>): void {
    this.#depth += 1;
    this.#elements += 1;
    if (this.#depth > MAX_DEPTH || this.#elements > MAX_ELEMENTS) {
      this.isTooLarge = true;
      this.#parser.pause();
      return;
    }
    const name = nameOf(prefixed);
    if (this.#dropped) {
      this.#keepDrawnFormula(allAttributes);
      return;
    }
    const isLong = this.#parser.endIndex - this.#parser.startIndex > MAX_TAG_LENGTH;
    const attributes = isLong ? {} : allAttributes;
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
      this.#dropped = { element, depth: this.#depth, text: '' };
      // An icon may be all that a cell says.
      const label = name === 'svg' && /^t[dh]$|^span$/.test(this.#open.name) ? attributes['aria-label'] : undefined;
      if (label) this.#open.children.push(new HtmlElement('span', { 'aria-label': label }, this.#open));
      return;
    }
    if (name === 'frame' && attributes.src) {
      element.name = 'p';
      const link = new HtmlElement('a', { href: attributes.src }, element);
      link.children.push(attributes.title || attributes.name || attributes.src);
      element.children.push(link);
    }
    this.#open.children.push(element);
    this.#open = element;
  }

  #onClose(prefixed: string): void {
    this.#depth -= 1;
    if (this.#dropped) {
      if (this.#depth < this.#dropped.depth) this.#endDropped();
      return;
    }
    const name = nameOf(prefixed);
    if (this.#open.name === name && this.#open.parent) this.#open = this.#open.parent;
  }

  /** Keeps what is useful of an element that was dropped: title, formulas and data. */
  #endDropped(): void {
    if (!this.#dropped) return;
    const { element, text } = this.#dropped;
    const type = element.attribute('type');
    this.#dropped = undefined;
    if (element.name === 'title') {
      this.#hasTitle = true;
      this.page.title = toSingleLine(text);
    } else if (element.name !== 'script') return;
    else if (/^\s*math\//i.test(type)) this.#keepFormula(type, text);
    else if (/ld\+json/i.test(type) && this.page.structuredData.length < MAX_STRUCTURED_DATA) {
      this.page.structuredData.push(text);
    } else if (this.page.data.length < MAX_STRUCTURED_DATA) {
      const data = type === 'application/json' ? text : stateIn(text);
      if (data !== '') this.page.data.push(data);
    }
  }

  /** MathJax draws formulas as `svg` with their source in an attribute. */
  #keepDrawnFormula({ 'data-latex': source = '' }: Record<string, string>): void {
    const dropped = this.#dropped;
    if (source === '' || dropped?.element.name !== 'svg' || dropped.element.children.length > 0) return;
    dropped.element.children.push(source);
    this.#open.children.push(new HtmlElement('span', { 'data-latex': source }, this.#open));
  }

  #keepFormula(type: string, source: string): void {
    const display: Record<string, string> = /mode=display/i.test(type) ? { display: 'true' } : {};
    if (!/mml/i.test(type)) {
      if (source === '') return;
      const attributes = { 'data-formula-script': '', 'data-tex': source, ...display };
      this.#open.children.push(new HtmlElement('span', attributes, this.#open));
    } else if (this.#level === 0) {
      const { page, isTooLarge } = new TreeBuilder(source, 1);
      this.isTooLarge ||= isTooLarge;
      const drawn = new HtmlElement('span', { 'data-formula-script': '' }, this.#open);
      drawn.children = page.body.children;
      this.#open.children.push(drawn);
    }
  }
}

/** `<m:math>` of XHTML is `<math>`, `<amp-img>` of AMP is `<img>`. */
function nameOf(name: string): string {
  if (name === 'amp-img') return 'img';
  return name.includes(':') ? name.replace(/^(?:m|mml|math):/, '') : name;
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

/** The first element below `root` that matches. */
export function findElement(root: HtmlElement, matches: (element: HtmlElement) => boolean): HtmlElement | undefined {
  for (const child of root.children) {
    if (typeof child === 'string') continue;
    const found = matches(child) ? child : findElement(child, matches);
    if (found) return found;
  }
  return undefined;
}

/** The nearest element that matches: this one or an ancestor. */
export function closest(
  element: HtmlElement | undefined,
  matches: (element: HtmlElement) => boolean,
): HtmlElement | undefined {
  for (let current = element; current; current = current.parent) if (matches(current)) return current;
  return undefined;
}

/** Whether a browser does not show an element before something is clicked. */
export function isHidden({ attributes }: HtmlElement): boolean {
  const { hidden, style = '', 'aria-hidden': ariaHidden } = attributes;
  return hidden !== undefined || ariaHidden === 'true' || /display:\s*none/.test(style);
}

/** The text of a node, white space unchanged. */
export function textOf(node: HtmlNode): string {
  if (typeof node === 'string') return node;
  const { children } = node;
  if (node.name === 'br') return '\n';
  if (children.length === 1) return textOf(children[0] ?? '');
  let text = '';
  for (const child of children) text += textOf(child);
  return text;
}

/** The beginning of the text of a node: at least `length` characters, or all of a shorter text. */
export function textStart(node: HtmlNode, length: number): string {
  if (typeof node === 'string') return node.slice(0, length);
  let text = '';
  for (const child of node.children) {
    text += textStart(child, length);
    if (text.length >= length) break;
  }
  return text;
}

export function lineOf(node: HtmlNode | undefined): string {
  return node === undefined ? '' : toSingleLine(textOf(node));
}
