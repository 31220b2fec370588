import { decodeEntities } from './entities.ts';

/** A page as plain text. */
export interface PlainPage {
  /** The content of `<title>`, else the first heading; may be empty. */
  title: string;
  text: string;
}

/** Elements whose content is no reading text. They are left out only where they are closed. */
const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'select',
  'nav',
  'footer',
]);

const BLOCKS = new Set(
  'address article aside blockquote br dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);

const HEADING = /^h([1-6])$/;

/**
 * Strips HTML in one pass over the text, whatever it is: no tree, no recursion, time linear in the input. It is what
 * the parser in the child process falls back to, and what the local index reads.
 */
export function htmlToText(html: string): PlainPage {
  const scanner = new Scanner(html);
  const out: string[] = [];
  let title = '';
  let heading: { level: number; start: number } | undefined;
  let firstHeading = '';

  for (let part = scanner.next(); part; part = scanner.next()) {
    if (part.kind === 'text') {
      out.push(decodeEntities(part.text.replace(/\s+/g, ' ')));
      continue;
    }
    const { name, closing } = part;
    if (!closing && name === 'title') {
      const inner = scanner.skipTo(name);
      if (inner !== undefined && title === '') title = clean(inner);
      continue;
    }
    if (!closing && SKIPPED.has(name)) {
      scanner.skipTo(name);
      continue;
    }
    const level = Number(HEADING.exec(name)?.[1] ?? 0);
    if (level > 0 && closing && heading) {
      if (firstHeading === '') firstHeading = out.slice(heading.start).join('').trim();
      heading = undefined;
      out.push('\n\n');
    } else if (level > 0 && !closing) {
      out.push(`\n\n${'#'.repeat(level)} `);
      heading = { level, start: out.length };
    } else if (name === 'li' && !closing) out.push('\n- ');
    else if ((name === 'td' || name === 'th') && closing) out.push(' | ');
    else if (name === 'p' || name === 'table' || name === 'pre' || name === 'blockquote') out.push('\n\n');
    else if (BLOCKS.has(name)) out.push('\n');
  }
  return { title: title || firstHeading, text: tidy(out.join('')) };
}

/** Markup-free text on one line, for titles and snippets of search services. */
export function stripMarkup(text: string): string {
  return decodeEntities(text.replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, ''))
    .replace(/\s+/g, ' ')
    .trim();
}

function clean(text: string): string {
  return decodeEntities(text).replace(/\s+/g, ' ').trim();
}

function tidy(text: string): string {
  return text
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

type Part = { kind: 'text'; text: string } | { kind: 'tag'; name: string; closing: boolean };

/** Cuts HTML into text and tags. Searches that failed once are not repeated: that is what keeps it linear. */
class Scanner {
  readonly #html: string;
  #lower: string | undefined;
  #at = 0;
  #noMoreTags = false;
  readonly #neverClosed = new Set<string>();

  constructor(html: string) {
    this.#html = html;
  }

  next(): Part | undefined {
    while (this.#at < this.#html.length) {
      const start = this.#at;
      const open = this.#noMoreTags ? -1 : this.#html.indexOf('<', start);
      if (open < 0) return this.#text(start, this.#html.length);
      if (open > start) return this.#text(start, open);
      const next = this.#html.charCodeAt(open + 1);
      if (!isTagStart(next)) {
        this.#at = open + 1;
        return { kind: 'text', text: '<' };
      }
      if (this.#html.startsWith('<!--', open)) {
        if (!this.#jumpPast('-->', open + 4)) return this.#text(this.#at, this.#html.length);
        continue;
      }
      const end = this.#html.indexOf('>', open + 1);
      if (end < 0) {
        this.#noMoreTags = true;
        continue;
      }
      this.#at = end + 1;
      const tag = /^<(\/?)([a-zA-Z][a-zA-Z0-9-]*)/.exec(this.#html.slice(open, Math.min(end, open + 40)));
      if (tag) return { kind: 'tag', name: (tag[2] ?? '').toLowerCase(), closing: tag[1] === '/' };
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

  #text(start: number, end: number): Part | undefined {
    this.#at = end;
    return start < end ? { kind: 'text', text: this.#html.slice(start, end) } : undefined;
  }

  #jumpPast(mark: string, from: number): boolean {
    const end = this.#html.indexOf(mark, from);
    this.#at = end < 0 ? this.#html.length : end + mark.length;
    return end >= 0;
  }
}

function isTagStart(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 47 || code === 33 || code === 63;
}

/** Lower case without changing lengths (`İ` would grow in `toLowerCase`). */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase());
}
