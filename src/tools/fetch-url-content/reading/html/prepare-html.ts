import { Parser } from 'htmlparser2';

/** HTML made fit for a tree, with what was taken out of it on the way. */
export interface PreparedHtml {
  /** A complete document with `<head>` and `<body>`, free of scripts and styles. */
  html: string;
  /** Contents of `application/ld+json` scripts. */
  structuredData: string[];
  /** How many tags it has. */
  tags: number;
}

/** Beyond these, trees take longer than they are worth. The parser's time for an element grows with its depth. */
const MAX_TAGS = 150_000;
const MAX_DEPTH = 400;
const MAX_LENGTH = 5_000_000;

/** Elements that go with all they contain. */
const DROPPED = new Set('script style template svg iframe object canvas audio video select'.split(' '));
/** Tags that browsers put where they belong; the tree used here does not. */
const STRUCTURE = new Set(['html', 'head', 'body', 'noscript']);
const HEAD = new Set(['meta', 'base', 'link']);
/** Elements without an end, as the parser has it. */
const VOID = new Set(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr'.split(
    ' ',
  ),
);
/** A tag longer than this loses its attributes: the time of the tree grows with their number squared. */
const LONGEST_TAG = 16_384;
const MAX_STRUCTURED_DATA = 20;

/**
 * One pass that takes out what is no text, sorts head from body and closes what is open. Undefined for a page that is
 * too large or too deep for a tree.
 */
export function prepareHtml(html: string): PreparedHtml | undefined {
  const { head, body, structuredData, tags, isTooDeep } = new Preparation(html, 0);
  const whole = `<!doctype html><html><head>${head.join('')}</head><body>${body.join('')}</body></html>`;
  if (isTooDeep || tags > MAX_TAGS || whole.length > MAX_LENGTH) return undefined;
  return { html: whole, structuredData, tags };
}

class Preparation {
  readonly head: string[] = [];
  readonly body: string[] = [];
  readonly structuredData: string[] = [];
  tags = 0;
  isTooDeep = false;
  readonly #html: string;
  readonly #level: number;
  readonly #parser: Parser;
  /** Of each open element, whether its tag was written. */
  readonly #open: boolean[] = [];
  /** The element that is being taken out: its tag, how many are open around it and where its content begins. */
  #out: { name: string; tag: string; depth: number; start: number } | undefined;
  #hasTitle = false;

  /** `level`: how many documents are around this one; MathML in a script is one inside of another. */
  constructor(html: string, level: number) {
    this.#html = html;
    this.#level = level;
    this.#parser = new Parser(
      {
        onopentag: (name, _attributes, isImplied) => this.#onOpen(name, isImplied),
        onclosetag: (name, isImplied) => this.#onClose(name, isImplied),
        ontext: (text) => this.#onText(text),
      },
      { decodeEntities: false },
    );
    this.#parser.end(html);
  }

  #onText(text: string): void {
    // What is taken out behind a `<` must not make a tag of it.
    if (!this.#out) this.body.push(text.endsWith('<') ? `${text.slice(0, -1)}&lt;` : text);
  }

  #onOpen(name: string, isImplied: boolean): void {
    const { startIndex, endIndex } = this.#parser;
    const source = isImplied ? `<${name}>` : this.#html.slice(startIndex, endIndex + 1);
    const isWritten = !this.#out && this.#write(name, source);
    if (VOID.has(name)) return;
    this.#open.push(isWritten);
    if (this.#open.length <= MAX_DEPTH) return;
    this.isTooDeep = true;
    this.#parser.pause();
  }

  #onClose(name: string, isImplied: boolean): void {
    if (VOID.has(name)) return;
    const isWritten = this.#open.pop();
    if (this.#out?.depth === this.#open.length) this.#takenOut();
    if (!isWritten) return;
    this.body.push(`</${withoutPrefix(name)}>`);
    if (!isImplied) this.tags += 1;
  }

  /** Writes a tag where it belongs; false for one whose end is not to be written. */
  #write(name: string, source: string): boolean {
    if (STRUCTURE.has(name)) return false;
    const local = withoutPrefix(name);
    const tag = source.length > LONGEST_TAG ? `<${local}>` : `<${local}${source.slice(1 + name.length)}`;
    if (HEAD.has(name)) {
      if (this.head.length < 500) this.head.push(tag);
      return false;
    }
    const isTitle = name === 'title' && !this.#hasTitle;
    if (isTitle || DROPPED.has(name)) {
      const isEmpty = tag.endsWith('/>');
      if (!isEmpty) this.#out = { name, tag, depth: this.#open.length, start: this.#parser.endIndex + 1 };
      return false;
    }
    this.tags += 1;
    this.body.push(tag);
    return true;
  }

  /** Keeps what is worth keeping of an element that was taken out. */
  #takenOut(): void {
    if (!this.#out) return;
    const { name, tag, start } = this.#out;
    const inner = this.#html.slice(start, this.#parser.startIndex);
    this.#out = undefined;
    if (name === 'title') {
      this.#hasTitle = true;
      this.head.push(`<title>${inner.replaceAll('<', '&lt;')}</title>`);
    } else if (name === 'svg') {
      const source = /\sdata-latex="([^"]{1,5000})"/.exec(inner)?.[1];
      if (source !== undefined && !source.includes('<')) this.body.push(`<span data-latex="${source}"></span>`);
    } else if (name === 'script' && /type\s?=\s?["']?math\//i.test(tag)) this.#keepFormula(tag, inner);
    else if (/ld\+json/i.test(tag) && this.structuredData.length < MAX_STRUCTURED_DATA) this.structuredData.push(inner);
  }

  #keepFormula(tag: string, source: string): void {
    if (!/type\s?=\s?["']?math\/mml/i.test(tag)) {
      const display = /mode=display/i.test(tag) ? ' display="true"' : '';
      if (source !== '')
        this.body.push(`<code data-formula-script="" data-tex="${attributeText(source)}"${display}></code>`);
    } else if (this.#level === 0) {
      const drawn = new Preparation(source, 1);
      this.tags += drawn.tags;
      this.isTooDeep ||= drawn.isTooDeep;
      this.body.push(`<span data-formula-script="">${drawn.body.join('')}</span>`);
    }
  }
}

/** `<m:math>` of XHTML is `<math>`. */
function withoutPrefix(name: string): string {
  return name.replace(/^(?:m|mml):/, '');
}

function attributeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
