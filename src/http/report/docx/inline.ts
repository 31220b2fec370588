import { decodeHTML } from 'entities/decode';
import type { Token } from 'marked';
import type { Report } from '../../../runs/projections/report.ts';
import { markerParts, withMarkers } from '../markers.ts';
import { isLineBreak } from '../plain-text.ts';
import { type Footnotes, REFERENCE_COMMA } from './footnotes.ts';
import type { Links } from './links.ts';
import { LINE_BREAK, type TextStyle, textRuns } from './text.ts';

/** Writes inline Markdown as runs. */
export class InlineWriter {
  readonly #parts: { report: Report; notes: Footnotes; links: Links };

  constructor(parts: { report: Report; notes: Footnotes; links: Links }) {
    this.#parts = parts;
  }

  /** Inline Markdown as runs, with markers as references to footnotes. */
  runs(tokens: readonly Token[], style: TextStyle): string {
    return tokens.map((token) => this.#token(token, style)).join('');
  }

  /** Code as it was written, with its original markers. */
  code(text: string, style: TextStyle = {}): string {
    return textRuns(withMarkers(text, this.#parts.report), style);
  }

  /** Text with its entities and markers resolved. */
  prose(text: string, style: TextStyle): string {
    const parts = markerParts(text, this.#parts.report);
    const runs = parts.map((part, at) => {
      const isFollowed = Array.isArray(parts[at + 1]);
      // No space before a reference.
      if (typeof part === 'string') return textRuns(decodeHTML(isFollowed ? part.trimEnd() : part), style);
      return this.#parts.notes.references(part) + (isFollowed ? REFERENCE_COMMA : '');
    });
    return runs.join('');
  }

  #token(token: Token, style: TextStyle): string {
    if (isLineBreak(token)) return LINE_BREAK;
    switch (token.type) {
      case 'strong':
        return this.runs(token.tokens ?? [], { ...style, bold: true });
      case 'em':
        return this.runs(token.tokens ?? [], { ...style, italic: true });
      case 'del':
        return this.runs(token.tokens ?? [], { ...style, strike: true });
      case 'codespan':
        return this.code(token.text, { ...style, code: true });
      case 'formula':
        return this.code(token.source, { ...style, code: true });
      case 'checkbox':
        return textRuns(token.checked ? '☑ ' : '☐ ', style);
      case 'link':
        return this.#link(token.href, style, (linked) => this.runs(token.tokens ?? [], linked));
      case 'image':
        // The file loads nothing, so an image becomes a link with its name.
        return this.#link(token.href, style, (linked) =>
          token.text === '' ? this.code(token.href, linked) : this.prose(token.text, linked),
        );
      default:
        if ('tokens' in token && token.tokens) return this.runs(token.tokens, style);
        return 'text' in token ? this.prose(token.text, style) : '';
    }
  }

  /** A link; inside another link only its content. */
  #link(href: string, style: TextStyle, content: (style: TextStyle) => string): string {
    if (style.link) return content(style);
    const address = withMarkers(href, this.#parts.report);
    return this.#parts.links.hyperlink(address, (link) => content({ ...style, link }));
  }
}
