/** A text that takes longer to read is shown as it is, in milliseconds. Loading what reads it does not count. */
const LIMIT_MS = 4000;

const address = new URL('./worker/lexer.js', import.meta.url).href;
/** The one script address that the page may start a worker from (trusted types). */
const policy = globalThis.trustedTypes?.createPolicy('console-worker', { createScriptURL: () => address });

/** A worker that nobody uses now: starting one takes longer than reading most texts. */
let spare;
/** Workers that are loaded. */
const ready = new WeakSet();

/**
 * Reads Markdown into tokens, the latest text first: while one is being read, only the newest waits. `onTokens` gets
 * what was read and its tokens, or undefined where it could not be read in time.
 */
export class MarkdownReader {
  #worker;
  #onTokens;
  #busy;
  #next;
  #timer;
  #id = 0;
  /** What the worker gave last, of which it names what stays; undefined where the next text is read from its start. */
  #tokens;

  constructor(onTokens) {
    this.#onTokens = onTokens;
  }

  /** `about.text` is read; `about` comes back with its tokens. Those of a start that stayed the same are the same objects. */
  read(about) {
    if (this.#busy !== undefined) {
      this.#next = about;
      return;
    }
    this.#busy = about;
    this.#id += 1;
    const worker = this.#started();
    worker.postMessage({ id: this.#id, text: about.text, whole: about.whole === true || this.#tokens === undefined });
    if (ready.has(worker)) this.#limit();
  }

  #limit() {
    this.#timer = setTimeout(() => this.#give(undefined), LIMIT_MS);
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
        if (this.#busy !== undefined) this.#limit();
        return;
      }
      if (id !== this.#id || this.#busy === undefined) return;
      this.#tokens = tokens && [...(this.#tokens ?? []).slice(0, keep), ...tokens];
      this.#give(this.#tokens);
    };
    this.#worker.onerror = () => this.#give(undefined);
    return this.#worker;
  }

  #give(tokens) {
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
