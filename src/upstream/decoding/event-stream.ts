import { createParser } from 'eventsource-parser';
import { isObject, parseJson } from '../../base/json.ts';
import { isWithinJsonLimits } from '../../protocol/requests/json-spans.ts';
import { brokenStream } from '../routing/attempt-failure.ts';

/** The longest frame that is accepted, in characters or bytes: a picture of 4096 x 4096 pixels fits. */
export const MAX_FRAME = 32 * 1024 * 1024;

/** How much of a frame over several lines is parsed in vain, in characters: each line parses all of it again. */
const MAX_PARSED = 4 * 1024 * 1024;

/** How many lines one frame may have, including empty ones and whole frames between single newlines. */
const MAX_LINES = 20_000;

/** How many malformed frames of one stream are skipped. */
const MAX_SKIPPED = 3;

/** How many stray lines of one stream are skipped: each costs as much as a frame of a hundred characters. */
const MAX_STRAY_LINES = 2000;

/** How many of the last characters are remembered. */
const TAIL = 3;

/** A whole line that ends the stream, whether an empty line follows or not. */
const DONE_LINE = /^data:[ \t]*\[DONE\][ \t]*\r?\n/gm;

/**
 * Turns the bytes of a streamed completion into payloads, whatever the framing: blank lines or single newlines between
 * frames, CRLF, comments, characters and frames cut anywhere, a plain JSON body instead of a stream. Call `feed` per
 * network chunk and `end` after the last one; both yield the payloads that became complete, then throw what is wrong with
 * what follows them: who has read the last event need not know.
 */
export class EventStream {
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: MAX_FRAME,
    onEvent: (event) => this.#onEvent(event.data, event.event),
    onError: (error) => this.#onError(error),
  });
  readonly #payloads: Record<string, unknown>[] = [];
  /** A frame that is not JSON yet; the next line of the same event may complete it. */
  #partial = '';
  #start: 'unknown' | 'events' | 'json' = 'unknown';
  #body = '';
  /** Characters parsed in vain to complete it. */
  #parsed = 0;
  #skipped = 0;
  #strayLines = 0;
  #hasStarted = false;
  /** The last characters of the input. */
  #tail = '';
  /** Whether `[DONE]` was seen. */
  done = false;

  feed(bytes: Uint8Array): Iterable<Record<string, unknown>> {
    return this.#reading(() => this.#text(this.#decoder.decode(bytes, { stream: true })));
  }

  end(): Iterable<Record<string, unknown>> {
    return this.#reading(() => {
      this.#text(this.#decoder.decode());
      if (this.#start === 'json') this.#payloads.push(...this.#jsonBody());
      if (this.#start !== 'events') return;
      // A last frame without its blank line still counts: the finish reason decides whether the turn is whole.
      this.#parser.feed('\n\n');
      if (this.#partial !== '' && !this.done) throw brokenStream('the stream ended inside a frame');
    });
  }

  #reading(read: () => void): Iterable<Record<string, unknown>> {
    try {
      read();
    } catch (thrown) {
      return thrownAfter(this.#payloads.splice(0), thrown);
    }
    return this.#payloads.splice(0);
  }

  #text(text: string): void {
    // Blanks before the first frame are skipped, however many there are.
    const content = this.#start === 'unknown' ? text.replace(/^[\s\uFEFF]+/, '') : text;
    if (content === '') return;
    if (this.#start === 'unknown') {
      if (content.startsWith('<')) throw brokenStream('an HTML page instead of a stream');
      this.#start = content.startsWith('{') ? 'json' : 'events';
    }
    if (this.#start === 'events') this.#feed(content);
    else this.#body += content;
    if (this.#body.length > MAX_FRAME) throw brokenStream('the answer is too long');
  }

  /**
   * Feeds the parser. A frame also ends where a chunk ends with a whole `data:` line: otherwise the frames of providers
   * that separate them by single newlines would come one frame late, or all at the end.
   */
  #feed(text: string): void {
    this.#parser.feed(text.includes('[DONE]') ? text.replaceAll(DONE_LINE, '$&\n') : text);
    this.#tail = text.length >= TAIL ? text.slice(-TAIL) : (this.#tail + text).slice(-TAIL);
    if (/[}\]]\r?\n$/.test(this.#tail)) this.#parser.feed('\n');
  }

  #onEvent(data: string, name: string | undefined): void {
    if (data === '' || this.done) return;
    // Without empty lines between frames the data may be several, of which `[DONE]` is the last that counts.
    const isOne = this.#partial === '' && (!data.includes('\n') || isWithinJsonLimits(data));
    const payload = isOne ? parse(data) : undefined;
    if (payload !== undefined) this.#accept(payload, name);
    else this.#onLines(data, name);
  }

  /** Reads a frame line by line; the first wrong line ends it. */
  #onLines(data: string, name: string | undefined): void {
    const lines = data.split('\n', MAX_LINES + 1);
    if (lines.length > MAX_LINES) throw brokenStream('a frame is not JSON');
    for (const line of lines) this.#onLine(line, name);
  }

  /** Reads a line of a frame that is not JSON as a whole: a frame of its own, a part of one, or `[DONE]`. */
  #onLine(line: string, name: string | undefined): void {
    if (this.done || line.trim() === '') return;
    if (line.trim() === '[DONE]') {
      if (this.#partial !== '') throw brokenStream('a frame is not JSON');
      this.done = true;
      return;
    }
    const text = this.#partial === '' ? line : `${this.#partial}\n${line}`;
    this.#parsed = this.#partial === '' ? text.length : this.#parsed + text.length;
    if (this.#parsed > MAX_PARSED) throw brokenStream('a frame is not JSON');
    const payload = parse(text);
    if (payload !== undefined) {
      this.#partial = '';
      this.#accept(payload, name);
      return;
    }
    // A complete frame after a broken one: the broken one is skipped, since nothing can complete it any more.
    const next = this.#partial === '' ? undefined : parse(line);
    if (isObject(next)) {
      this.#skip();
      this.#partial = '';
      this.#accept(next, name);
      return;
    }
    if (!/^\s*[{[]/.test(text)) throw brokenStream('a frame is not JSON');
    this.#partial = text;
  }

  /** Skips a broken frame. Before the first payload that fails the attempt instead, so that another route is tried. */
  #skip(): void {
    if (!this.#hasStarted || ++this.#skipped > MAX_SKIPPED) throw brokenStream('a frame is not JSON');
  }

  #accept(read: unknown, name: string | undefined): void {
    // Gemini's errors come as lists.
    const payload: unknown = Array.isArray(read) && isObject(read[0]) && read[0].error ? read[0] : read;
    if (this.done || !isObject(payload)) return;
    this.#hasStarted = true;
    this.#payloads.push(name === 'error' && !payload.error ? { error: payload } : payload);
  }

  #onError(error: { type: string; line?: string; value?: string }): void {
    if (this.done) return;
    if (error.type === 'max-buffer-size-exceeded') throw brokenStream('a frame is too long');
    if (++this.#strayLines > MAX_STRAY_LINES) throw brokenStream('this is no event stream');
    // Some servers write a bare JSON error into the stream.
    const line = error.line?.trim() ?? '';
    const payload = line.startsWith('{') ? parse(line) : undefined;
    if (isObject(payload)) this.#payloads.push(payload.error ? payload : { error: payload });
  }

  /** The payloads of a completion that was not streamed, or of a body with one JSON object a line. */
  #jsonBody(): Record<string, unknown>[] {
    const whole = parse(this.#body);
    if (isObject(whole)) return [whole];
    const objects = [];
    for (const line of this.#body.trim().split('\n')) {
      const payload = parse(line);
      // The first wrong line ends it, because each one costs an exception.
      if (!isObject(payload)) throw brokenStream('the answer is not JSON');
      objects.push(payload);
    }
    return objects;
  }
}

function* thrownAfter<T>(items: readonly T[], thrown: unknown): Generator<T, void, undefined> {
  yield* items;
  throw thrown;
}

function parse(text: string): unknown {
  if (!isWithinJsonLimits(text)) throw brokenStream('a frame holds too many values');
  return parseJson(text);
}
