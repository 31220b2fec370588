/** A piece of HTML: text, or a tag with its place. Comments and declarations are left out. */
export type HtmlPart =
  | { kind: 'text'; text: string }
  | { kind: 'tag'; name: string; closing: boolean; start: number; end: number };

/**
 * Cuts HTML into text and tags without building a tree. Searches that failed once are not repeated, so the time is
 * linear in the input, also for a million `<` or for tags that never end.
 */
export class HtmlScanner {
  readonly #html: string;
  #lower: string | undefined;
  #at = 0;
  #noMoreTags = false;
  readonly #neverClosed = new Set<string>();
  /** Quotes of which no more follow. */
  readonly #unclosed = new Set<string>();

  constructor(html: string) {
    this.#html = html;
  }

  /** The place up to which the HTML has been read. */
  get at(): number {
    return this.#at;
  }

  next(): HtmlPart | undefined {
    while (this.#at < this.#html.length) {
      const start = this.#at;
      const open = this.#noMoreTags ? -1 : this.#html.indexOf('<', start);
      if (open < 0) return this.#text(start, this.#html.length);
      if (open > start) return this.#text(start, open);
      if (!isTagStart(this.#html.charCodeAt(open + 1))) {
        this.#at = open + 1;
        return { kind: 'text', text: '<' };
      }
      if (this.#html.startsWith('<!--', open)) {
        this.#jumpPast('-->', open + 4);
        continue;
      }
      const end = this.#endOfTag(open);
      if (end < 0) {
        this.#noMoreTags = true;
        continue;
      }
      this.#at = end + 1;
      const tag = /^<(\/?)([a-zA-Z][a-zA-Z0-9:-]*)/.exec(this.#html.slice(open, Math.min(end, open + 40)));
      if (tag) {
        return { kind: 'tag', name: (tag[2] ?? '').toLowerCase(), closing: tag[1] === '/', start: open, end: end + 1 };
      }
    }
    return undefined;
  }

  /** Skips to behind `</name>` and returns what stood before it; undefined, without moving, if there is none. */
  skipTo(name: string): string | undefined {
    if (this.#neverClosed.has(name)) return undefined;
    this.#lower ??= lowerAscii(this.#html);
    const end = this.#lower.indexOf(`</${name}`, this.#at);
    if (end < 0) {
      this.#neverClosed.add(name);
      return undefined;
    }
    const inner = this.#html.slice(this.#at, end);
    const close = this.#html.indexOf('>', end);
    this.#at = close < 0 ? this.#html.length : close + 1;
    return inner;
  }

  /** Where the tag ends; a `>` in the quotes of an attribute does not end it. -1: nowhere. */
  #endOfTag(open: number): number {
    const html = this.#html;
    for (let at = open + 1; at < html.length; at++) {
      const code = html.charCodeAt(at);
      if (code === GREATER) return at;
      // Quotes mean something behind `=` only.
      if (code !== EQUALS) continue;
      while (isBlank(html.charCodeAt(at + 1))) at++;
      const quote = html[at + 1];
      if (quote !== '"' && quote !== "'") continue;
      const close = this.#unclosed.has(quote) ? -1 : html.indexOf(quote, at + 2);
      if (close < 0) {
        this.#unclosed.add(quote);
        return html.indexOf('>', open + 1);
      }
      at = close;
    }
    return -1;
  }

  #text(start: number, end: number): HtmlPart | undefined {
    this.#at = end;
    return start < end ? { kind: 'text', text: this.#html.slice(start, end) } : undefined;
  }

  #jumpPast(mark: string, from: number): void {
    const end = this.#html.indexOf(mark, from);
    this.#at = end < 0 ? this.#html.length : end + mark.length;
  }
}

function isTagStart(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 47 || code === 33 || code === 63;
}

const GREATER = 62;
const EQUALS = 61;

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

/** Lower case without changing lengths (`İ` would grow in `toLowerCase`). */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase());
}
