import type { SourceRegistry } from '../run/sources.ts';
import { urlIn } from '../text/url-in-text.ts';
import { type AnswerPart, AnswerScanner } from './answer-scanner.ts';
import type { MayShow } from './safe-markup.ts';

/**
 * Makes the model's reasoning safe to show: clients often render it as Markdown, so images, links and HTML that are
 * forbidden in an answer are disarmed here, too. Nothing is cited, and numbers stay as they are.
 */
export class VisibleReasoning {
  readonly #sources: SourceRegistry;
  readonly #mayShow: MayShow;
  #scanner: AnswerScanner;

  constructor(sources: SourceRegistry, mayShow: MayShow) {
    this.#sources = sources;
    this.#mayShow = mayShow;
    this.#scanner = this.#begin();
  }

  /** The text that is ready with this delta; may be empty. */
  push(delta: string): string {
    return visibleText(this.#scanner.push(delta));
  }

  /** The text that was held back, at the end of a paragraph. Another one may follow. */
  end(): string {
    const rest = visibleText(this.#scanner.end());
    this.#scanner = this.#begin();
    return rest;
  }

  #begin(): AnswerScanner {
    return new AnswerScanner((raw) => urlIn(raw, this.#sources).length, this.#mayShow);
  }
}

function visibleText(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === 'mark' ? disarmMark(part.text) : part.text)).join('');
}

/** Disarms a mark with a space: a backslash could be taken for the end of a URL before it. */
export function disarmMark(mark: string): string {
  return mark === '<' ? '< ' : ` ${mark}`;
}
