import { pieceEnd } from '../run/live-steps.ts';
import { CLOSES_BLOCK, closingRun, endOfRun, LONGEST_FENCE, lineAt, OPENS_BLOCK } from './code-marks.ts';
import { LineState } from './line-state.ts';
import { type FoundMarker, markerAt } from './marker.ts';
import { destinationAt, type MayShow, marksInCode, tagAt } from './safe-markup.ts';

/**
 * A part of an answer; together, in order, the parts are its text without the tags of tool results. `mark`: the character
 * that would make a forbidden link, image or tag of what surrounds it.
 */
export type AnswerPart =
  | { type: 'text'; text: string }
  | { type: 'mark'; text: string }
  | { type: 'marker'; text: string; numbers: number[] }
  | { type: 'url'; text: string };

/** A longer run of characters is not taken for a URL. */
const LONGEST_URL = 2000;
/** A longer line of code is scanned in pieces. */
const LONGEST_LINE = 4000;
/** How many open brackets are remembered, the latest ones. */
const MAX_BRACKETS = 100;

const NEXT = /[[\]【［`\n]|(?<=\])[(:]|<(?=[a-z/!?])|(?<![a-z])(?:https?|corpus):\/\//gi;
/** `NEXT`, or the start of a scheme at the end of the text. */
const NEXT_OR_PARTIAL =
  /[[\]【［`\n]|(?<=\])[(:]|<(?=[a-z/!?]|$)|(?<![a-z])(?:https?|corpus):\/\/|(?<![a-z])(?:h(?:t(?:t(?:ps?(?::\/?)?)?)?)?|c(?:o(?:r(?:p(?:us?(?::\/?)?)?)?)?)?)$/gi;
/** Bounded, because a text that consists of schemes is scanned again from each of them. */
const URL_RUN = /(?:https?|corpus):\/\/[^\s<>"`|\\^{}\u3000-\u303f\uff00-\uffef]{1,2001}/iy;
/** A bracket that is no part of a URL: it may open a link or an image that not all renderers take for a part of it. */
const OPENS_LINK = /\[(?![^[\]]*\](?!\())/;
const URL_CHARACTERS = /[^\s<>"`|\\^{}\u3000-\u303f\uff00-\uffef]*/y;
const MAY_OPEN_BLOCK = /^[^\S\n>]*(?:>[^\S\n>]*)*(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]+|[-*+]|\d{1,9}[.)]?)?(?:`+|~+)?$/;
/** The only fence that all readers agree on: in a list, a quotation or after white space, a block may end earlier. */
const PLAIN_FENCE = /^ {0,3}(?:`{3,}|~{3,})/;
const MAY_CLOSE_BLOCK = /^[\s>]*(?:`*|~*)\s*$/;

/**
 * Splits a Markdown answer into text, citation markers and URLs while it streams. What is still ambiguous is held back:
 * an open bracket, a URL that may go on, code that may not be closed. The amount held back is bounded, and the result
 * does not depend on how the answer was cut into deltas. Code is text, except for a code span that consists of a URL.
 */
export class AnswerScanner {
  readonly #urlLength: (raw: string) => number;
  /** Text that is held back, after the last character that was emitted: a look-behind needs it. */
  #buffer = '';
  #from = 0;
  /** Up to here the characters may be those of a URL, so that a text that consists of schemes is scanned only once. */
  #urlUntil = 0;
  /** The fence of the open code block. */
  #block: string | undefined;
  #atLineStart = true;
  readonly #mayShow: MayShow;
  /** For each open bracket, whether it is an image's. */
  readonly #brackets: boolean[] = [];
  /** Whether brackets were forgotten, one of which may be an image's. */
  #hasForgotten = false;
  /** Whether the bracket that closed last was an image's. */
  #closedImage = false;
  readonly #line = new LineState();
  /** Whether every reader of Markdown sees the same code blocks in this answer so far. */
  #isPlain = true;

  /**
   * @param urlLength how much of a run of characters is the URL, without the punctuation of the sentence around it.
   * @param mayShow where images and links may lead; the others come out as `mark` parts. Anywhere by default.
   */
  constructor(urlLength: (raw: string) => number, mayShow: MayShow = () => true) {
    this.#urlLength = urlLength;
    this.#mayShow = mayShow;
  }

  /** Whether something is held back. */
  get isHolding(): boolean {
    return this.#from < this.#buffer.length;
  }

  /** The parts that are complete with this delta. */
  push(delta: string): AnswerPart[] {
    this.#buffer += delta;
    return this.#scan(false);
  }

  /** The parts that were held back. The answer is complete. */
  end(): AnswerPart[] {
    return this.#scan(true);
  }

  #scan(final: boolean): AnswerPart[] {
    const parts = new Parts();
    let at = this.#from;
    while (at < this.#buffer.length) {
      const next = this.#step(at, final, parts);
      if (next === 'more') break;
      this.#line.pass(this.#buffer.slice(at, next));
      at = next;
    }
    const keep = Math.max(0, at - 1);
    this.#buffer = this.#buffer.slice(keep);
    this.#from = at - keep;
    this.#urlUntil = Math.max(0, this.#urlUntil - keep);
    return parts.list;
  }

  /** Scans one part at `at` and returns where the next one starts. */
  #step(at: number, final: boolean, parts: Parts): number | 'more' {
    if (this.#block !== undefined) return this.#inBlock(at, this.#block, final, parts);
    if (this.#atLineStart) {
      const opened = this.#openBlock(at, final, parts);
      if (opened !== undefined) return opened;
      this.#atLineStart = false;
    }
    return this.#inline(at, final, parts);
  }

  /** A line of a code block, or the rest of one. */
  #inBlock(at: number, mark: string, final: boolean, parts: Parts): number | 'more' {
    const newline = this.#buffer.indexOf('\n', at);
    const end = newline === -1 ? this.#buffer.length : newline + 1;
    const line = this.#buffer.slice(at, end);
    if (this.#atLineStart) {
      if (newline === -1 && !final && line.length <= LONGEST_FENCE && MAY_CLOSE_BLOCK.test(line)) return 'more';
      const closes = line.length <= LONGEST_FENCE && CLOSES_BLOCK.exec(line)?.[1]?.startsWith(mark) === true;
      if (closes) {
        this.#isPlain &&= PLAIN_FENCE.test(line);
        this.#block = undefined;
      } else if (!this.#isPlain) return this.#doubtfulLine(at, { newline, final }, parts);
    } else if (!this.#isPlain) return this.#doubtfulLine(at, { newline, final }, parts);
    this.#atLineStart = newline !== -1;
    parts.text(line);
    return end;
  }

  /** A line, or a piece of a long one, that is code unless some Markdown renderer ends the block earlier. */
  #doubtfulLine(at: number, { newline, final }: { newline: number; final: boolean }, parts: Parts): number | 'more' {
    const length = (newline === -1 ? this.#buffer.length : newline + 1) - at;
    if (newline === -1 && length <= LONGEST_LINE && !final) return 'more';
    const line = this.#buffer.slice(at, pieceEnd(this.#buffer, at + Math.min(length, LONGEST_LINE)));
    const piece = length > LONGEST_LINE ? beforeLastMark(line) : line;
    this.#atLineStart = piece.endsWith('\n');
    this.#doubtfulCode(piece, parts);
    return at + piece.length;
  }

  #doubtfulCode(code: string, parts: Parts): void {
    let from = 0;
    for (const at of marksInCode(code, this.#mayShow)) {
      parts.text(code.slice(from, at));
      parts.list.push({ type: 'mark', text: code[at] ?? '' });
      from = at + 1;
    }
    parts.text(code.slice(from));
  }

  /** Scans a line that opens a code block; undefined if the line does not. */
  #openBlock(at: number, final: boolean, parts: Parts): number | 'more' | undefined {
    const line = lineAt(this.#buffer, at);
    const whole = final || line.ended || line.text.length === LONGEST_FENCE;
    if (!whole && MAY_OPEN_BLOCK.test(line.text)) return 'more';
    const opening = OPENS_BLOCK.exec(line.text);
    const mark = opening?.[1];
    if (!opening || mark === undefined) return undefined;
    if (mark[0] === '`') {
      if (line.text.includes('`', opening[0].length)) return undefined;
      if (!whole) return 'more';
    }
    this.#block = mark;
    this.#isPlain &&= PLAIN_FENCE.test(line.text) && (mark[0] === '~' || line.text.length < LONGEST_FENCE);
    this.#atLineStart = false;
    // What follows the fence is scanned as a line of code.
    const opened = this.#isPlain ? line.text : opening[0];
    parts.text(opened);
    return at + opened.length;
  }

  #inline(at: number, final: boolean, parts: Parts): number | 'more' {
    const pattern = final ? NEXT : NEXT_OR_PARTIAL;
    pattern.lastIndex = at;
    const match = pattern.exec(this.#buffer);
    const found = match?.index ?? this.#buffer.length;
    if (found > at) {
      parts.text(this.#buffer.slice(at, found));
      return found;
    }
    const [first = ''] = match?.[0] ?? '';
    if (first === '\n') {
      this.#atLineStart = true;
      parts.text(first);
      return at + 1;
    }
    if (first === '`') return this.#code(at, final, parts);
    if (/[[【［]/.test(first)) return this.#openBracket(at, markerAt(this.#buffer, at, { final }), parts);
    if (/[\](:<]/.test(first)) return this.#markup(at, { first, final }, parts);
    return match?.[0].endsWith('://') ? this.#url(at, final, parts) : 'more';
  }

  #openBracket(at: number, found: FoundMarker, parts: Parts): number | 'more' {
    if (found === 'more') return 'more';
    const end = found?.end ?? at + 1;
    const text = this.#buffer.slice(at, end);
    if (found) parts.list.push({ type: 'marker', text, numbers: found.numbers });
    else {
      if (this.#brackets.push(this.#buffer[at - 1] === '!') > MAX_BRACKETS) {
        this.#brackets.shift();
        this.#hasForgotten = true;
      }
      parts.text(text);
    }
    return end;
  }

  /** A closing bracket, the character after it that may make it a link, or a tag. */
  #markup(at: number, { first, final }: { first: string; final: boolean }, parts: Parts): number | 'more' {
    if (first === ']') {
      this.#closedImage = this.#brackets.pop() ?? this.#hasForgotten;
      parts.text(first);
      return at + 1;
    }
    if (first === '<') return this.#tag(at, final, parts);
    const isAllowed = this.#isAllowed(at, first, final);
    if (isAllowed === 'more') return 'more';
    if (isAllowed) parts.text(first);
    else parts.list.push({ type: 'mark', text: first });
    return at + 1;
  }

  #tag(at: number, final: boolean, parts: Parts): number | 'more' {
    const options = { final, mayShow: this.#mayShow, startsLine: this.#line.isAtStart };
    const tag = tagAt(this.#buffer, at, options);
    if (tag === 'more') return 'more';
    if (tag.isHidden) return tag.end;
    if (tag.isAllowed) parts.text(this.#buffer.slice(at, tag.end));
    else parts.list.push({ type: 'mark', text: '<' });
    return tag.end;
  }

  /** Whether the destination after a bracket, of a link, an image or a reference definition, is allowed. */
  #isAllowed(at: number, first: string, final: boolean): boolean | 'more' {
    const isLink = first === '(';
    const destination = destinationAt(this.#buffer, at + 1, { final, link: isLink });
    if (destination === 'more') return 'more';
    return destination !== undefined && this.#mayShow(destination, { image: !isLink || this.#closedImage });
  }

  #url(at: number, final: boolean, parts: Parts): number | 'more' {
    const scheme = this.#buffer.indexOf('://', at) + '://'.length;
    const raw = this.#urlRun(at, scheme);
    if (raw.length <= LONGEST_URL && at + raw.length === this.#buffer.length && !final) return 'more';
    if (raw.length > LONGEST_URL) {
      parts.text(this.#buffer.slice(at, scheme));
      return scheme;
    }
    const length = this.#beforeBracket(at, raw, final);
    return length === 'more' ? 'more' : this.#addUrl(at, raw.slice(0, length), parts);
  }

  #addUrl(at: number, raw: string, parts: Parts): number {
    const length = this.#urlLength(raw);
    const url = raw.slice(0, length);
    if (URL.canParse(url)) parts.list.push({ type: 'url', text: url });
    else parts.text(url || raw);
    return at + (url || raw).length;
  }

  /** The run of characters at `at` that may be a URL, cut one character above the limit if it is too long. */
  #urlRun(at: number, scheme: number): string {
    const limit = scheme + LONGEST_URL + 1;
    const known = Math.max(scheme, this.#urlUntil);
    if (known < limit) {
      URL_CHARACTERS.lastIndex = 0;
      const added = URL_CHARACTERS.exec(this.#buffer.slice(known, limit))?.[0].length ?? 0;
      this.#urlUntil = known + added;
    }
    return this.#buffer.slice(at, Math.min(limit, this.#urlUntil));
  }

  /** The length of the URL `raw` at `at` without a marker, link or image that follows directly: `https://a.example/b[1]`. */
  #beforeBracket(at: number, raw: string, final: boolean): number | 'more' {
    const link = raw.search(OPENS_LINK);
    if (link !== -1) return this.#beforeBracket(at, raw.slice(0, link), final);
    for (let open = raw.indexOf('['); open !== -1; open = raw.indexOf('[', open + 1)) {
      const marker = markerAt(this.#buffer, at + open, { final });
      if (marker === 'more') return 'more';
      if (marker && !/[\w=&/]/.test(this.#buffer[marker.end] ?? '')) return open;
    }
    return raw.length;
  }

  /** A code span: from a run of back-ticks to the next run of the same length. */
  #code(at: number, final: boolean, parts: Parts): number | 'more' {
    const opened = endOfRun(this.#buffer, at);
    if (opened === this.#buffer.length && !final) return 'more';
    const closed = closingRun(this.#buffer, { opened, length: opened - at, final });
    if (closed === 'more') return 'more';
    const end = closed ?? opened;
    const text = this.#buffer.slice(at, end);
    // A renderer that takes the back-tick for a part of a URL, or the line for a table row, sees no code here.
    const isDoubtful = !this.#isPlain || this.#line.hidesCode || /[\n\r|]/.test(text);
    if (isDoubtful && closed !== undefined && marksInCode(text, this.#mayShow).length > 0) {
      this.#doubtfulCode(text, parts);
      return end;
    }
    const url = closed === undefined ? undefined : this.#onlyUrl(text);
    if (url) {
      parts.text(text.slice(0, url.start));
      parts.list.push({ type: 'url', text: url.text });
      parts.text(text.slice(url.start + url.text.length));
    } else {
      parts.text(text);
    }
    return end;
  }

  /** The URL in a code span that contains nothing else. */
  #onlyUrl(code: string): { start: number; text: string } | undefined {
    const start = code.search(/[^`\s<>]/);
    URL_RUN.lastIndex = start;
    const raw = start === -1 ? undefined : URL_RUN.exec(code)?.[0];
    if (raw === undefined) return undefined;
    const text = raw.slice(0, this.#urlLength(raw));
    return URL.canParse(text) && /^[`\s<>]*$/.test(code.slice(start + text.length)) ? { start, text } : undefined;
  }
}

/** A piece of a line without its last mark, which has to stay together with what follows it. */
function beforeLastMark(piece: string): string {
  const mark = Math.max(piece.lastIndexOf('<'), piece.lastIndexOf(']'));
  return mark > 0 ? piece.slice(0, mark) : piece;
}

/** Collects parts, and joins adjacent texts. */
class Parts {
  readonly list: AnswerPart[] = [];

  text(text: string): void {
    if (text === '') return;
    const last = this.list.at(-1);
    if (last?.type === 'text') last.text += text;
    else this.list.push({ type: 'text', text });
  }
}
