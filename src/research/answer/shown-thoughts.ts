import type { SourceRegistry } from '../run/sources.ts';
import { type AnswerPart, AnswerScanner } from './answer-scanner.ts';
import type { MayShow } from './safe-markup.ts';
import { urlIn } from './url-in-text.ts';

/**
 * What a model thinks, as its client reads it: as Markdown, often, and so without the images, links and HTML that an
 * answer may not show either. Nothing is cited, and numbers stay as they are.
 */
export class ShownThoughts {
  readonly #sources: SourceRegistry;
  readonly #mayShow: MayShow;
  #scanner: AnswerScanner;

  constructor(sources: SourceRegistry, mayShow: MayShow) {
    this.#sources = sources;
    this.#mayShow = mayShow;
    this.#scanner = this.#begin();
  }

  /** What is ready with this delta; may be empty. */
  push(delta: string): string {
    return shown(this.#scanner.push(delta));
  }

  /** What was held back: a paragraph ends here, and another one may begin. */
  end(): string {
    const rest = shown(this.#scanner.end());
    this.#scanner = this.#begin();
    return rest;
  }

  #begin(): AnswerScanner {
    return new AnswerScanner((raw) => urlIn(raw, this.#sources).length, this.#mayShow);
  }
}

function shown(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === 'mark' ? spaced(part.text) : part.text)).join('');
}

/** A mark that lost its meaning. An escape could be taken for the end of an address before it. */
export function spaced(mark: string): string {
  return mark === '<' ? '< ' : ` ${mark}`;
}
