/** A text that takes longer to parse is shown as it is, in milliseconds. Loading the worker does not count. */
const LIMIT_MS = 4000;

const address = new URL('./worker/lexer.js', import.meta.url).href;
/** The one script address that the page may start a worker from (trusted types). */
const policy = globalThis.trustedTypes?.createPolicy('console-worker', { createScriptURL: () => address });

/** An idle worker to reuse: starting one takes longer than parsing most texts. */
let spare;
/** Workers that have loaded. */
const ready = new WeakSet();

/**
 * Parses Markdown into tokens in a worker. While one text is parsed, only the newest of the others waits. `onTokens` gets
 * the text and its tokens, or undefined if it could not be parsed in time.
 */
export class MarkdownReader {
  #worker;
  #onTokens;
  #busy;
  #next;
  #timer;
  #id = 0;
  /** The worker's last tokens, of which it keeps a prefix; undefined if the next text is parsed from its start. */
  #tokens;

  constructor(onTokens) {
    this.#onTokens = onTokens;
  }

  /** Parses `about.text`; `onTokens` gets `about` back. Tokens of an unchanged start are the same objects. */
  read(about) {
    if (this.#busy !== undefined) {
      this.#next = about;
      return;
    }
    this.#busy = about;
    this.#id += 1;
    const worker = this.#started();
    worker.postMessage({ id: this.#id, text: about.text, whole: about.whole === true || this.#tokens === undefined });
    if (ready.has(worker)) this.#startLimit();
  }

  #startLimit() {
    this.#timer = setTimeout(() => this.#finish(undefined), LIMIT_MS);
  }

  stop() {
    clearTimeout(this.#timer);
    if (this.#busy !== undefined || spare) this.#worker?.terminate();
    else spare = this.#worker;
    this.#worker = undefined;
    this.#tokens = undefined;
    this.#busy = undefined;
    this.#next = undefined;
  }

  #started() {
    if (this.#worker) return this.#worker;
    this.#worker = spare ?? new Worker(policy ? policy.createScriptURL(address) : address, { type: 'module' });
    spare = undefined;
    this.#worker.onmessage = ({ target, data: { ready: isReady, id, keep, tokens } }) => {
      if (isReady) {
        ready.add(target);
        if (this.#busy !== undefined) this.#startLimit();
        return;
      }
      if (id !== this.#id || this.#busy === undefined) return;
      this.#tokens = tokens && [...(this.#tokens ?? []).slice(0, keep), ...tokens];
      this.#finish(this.#tokens);
    };
    this.#worker.onerror = () => this.#finish(undefined);
    return this.#worker;
  }

  #finish(tokens) {
    clearTimeout(this.#timer);
    const about = this.#busy;
    const next = this.#next;
    this.#busy = undefined;
    this.#next = undefined;
    if (tokens === undefined) {
      this.#worker?.terminate();
      this.#worker = undefined;
      this.#tokens = undefined;
    }
    if (about !== undefined) this.#onTokens(about, tokens);
    if (next !== undefined) this.read(next);
  }
}
