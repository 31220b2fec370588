import { GatewayError } from '../base/errors.ts';
import { describeContent } from '../tools/fetch-url-content/content-kind.ts';
import { hasPlainText } from '../tools/fetch-url-content/parsing/parse-job.ts';
import { ParseFailure, ParsePool } from '../tools/fetch-url-content/parsing/parse-pool.ts';
import { ToolError } from '../tools/tool.ts';
import type { FileValue } from './records.ts';

const LIMITS = { timeMs: 20_000, memoryBytes: 768 * 1024 * 1024 };
/** Longest text, in UTF-16 code units. A longer document is refused, because no part of it may be left out. */
const MAX_TEXT_LENGTH = 8_000_000;
/** Documents that are read in parallel. */
const CONCURRENCY = 2;

/** A document that cannot be read; clients see code and message. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';
  readonly code: NonNullable<FileValue['error']>['code'];

  constructor(code: NonNullable<FileValue['error']>['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Extracts the text of documents with the parsers of web pages, in child processes with more time than a page gets. */
export class DocumentTexts implements Disposable {
  readonly #pool = new ParsePool({ size: CONCURRENCY, limits: LIMITS, inBackground: true });

  /**
   * Extracts the title and the text of a document, as Markdown with marks at the start of pages.
   * @throws UnreadableDocument, GatewayError `overloaded`, or the reason of the signal.
   */
  async read(file: { bytes: Uint8Array; name: string; type: string }, signal: AbortSignal) {
    const { kind, charset } = describeDocument(file);
    const url = `file:///${encodeURIComponent(file.name)}`;
    const job = { kind, bytes: file.bytes, charset, maxLength: MAX_TEXT_LENGTH, url };
    const parse = (isPlainTextOnly: boolean) => this.#pool.parse({ ...job, isPlainTextOnly }, { signal });
    try {
      const { title, content, incomplete } = await parse(false).catch(async (failure: unknown) => {
        if (!(failure instanceof ParseFailure) || !hasPlainText(kind) || failure.kind === 'busy') throw failure;
        return { ...(await parse(true)), incomplete: undefined };
      });
      if (incomplete !== undefined) {
        throw new UnreadableDocument('invalid_file', `The file is too long to be read whole: ${incomplete}. Split it.`);
      }
      if (content.trim() === '') throw new UnreadableDocument('invalid_file', 'There is no text in this file.');
      return { title, text: content };
    } catch (thrown) {
      if (!(thrown instanceof ParseFailure)) throw thrown;
      if (thrown.kind === 'busy')
        throw new GatewayError('overloaded', 'Too many documents are being read. Try again.', { cause: thrown });
      const code = thrown.kind === 'crashed' ? 'server_error' : 'invalid_file';
      throw new UnreadableDocument(code, `The file could not be read: ${thrown.message.replace(/\.$/, '')}.`);
    }
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }
}

function describeDocument({ bytes, type }: { bytes: Uint8Array; type: string }) {
  try {
    return describeContent(bytes, type || null);
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    throw new UnreadableDocument('unsupported_file', thrown.message);
  }
}
