import type { Token, Tokens } from 'marked';
import { textOfTokens } from '../plain-text.ts';
import type { InlineWriter } from './inline.ts';
import { type DocxLists, LEVEL_INDENT, LIST_LEVELS } from './numbering.ts';
import { table } from './table.ts';
import { isRightToLeft, type ParagraphStyle, paragraph } from './text.ts';

/** The indent of a quotation, and the largest indent of anything, in twentieths of a point. */
const QUOTE_INDENT = 360;
const MAX_INDENT = 5400;
const MAX_HEADING = 6;

/** How many lists and quotations a block is nested in. */
interface Nesting {
  lists: number;
  quotes: number;
}

/**
 * Writes blocks of Markdown as a flat sequence of paragraphs and tables. Lists and quotations become indents, so that the
 * file does not nest as deeply as the text.
 */
export class BlockWriter {
  readonly #parts: { inline: InlineWriter; lists: DocxLists; top: number };

  /** `top`: the level of the highest heading in the text. */
  constructor(parts: { inline: InlineWriter; lists: DocxLists; top: number }) {
    this.#parts = parts;
  }

  /** The paragraphs and the rows of tables, piece by piece. */
  *blocks(tokens: readonly Token[], nesting: Nesting = { lists: 0, quotes: 0 }): Generator<string> {
    for (const token of tokens) {
      if (token.type === 'blockquote') {
        yield* this.blocks(token.tokens ?? [], { ...nesting, quotes: nesting.quotes + 1 });
      } else if (token.type === 'list') yield* this.#list(token, nesting);
      else if (token.type === 'table') yield* this.#table(token, indentOf(nesting));
      else if (token.type !== 'space' && token.type !== 'def') yield this.#block(token, nesting);
    }
  }

  #block(token: Token, nesting: Nesting): string {
    const indent = indentOf(nesting);
    switch (token.type) {
      case 'heading': {
        const level = Math.min(Math.max(token.depth - this.#parts.top + 1, 1), MAX_HEADING);
        return this.#paragraph(token.tokens ?? [], { style: `Heading${level}`, indent });
      }
      case 'code':
        return paragraph(this.#parts.inline.code(token.text, { lines: true }), { style: 'Code', indent });
      case 'hr':
        return paragraph('', { style: 'Rule' });
      default: {
        const tokens = 'tokens' in token && token.tokens ? token.tokens : [token];
        return this.#paragraph(tokens, { ...(nesting.quotes > 0 && { style: 'Quote' }), indent });
      }
    }
  }

  *#list({ ordered, start, items }: Tokens.List | Tokens.Generic, nesting: Nesting): Generator<string> {
    const level = Math.min(nesting.lists, LIST_LEVELS - 1);
    const id = ordered ? this.#parts.lists.addOrdered(Number(start) || 0, level) : this.#parts.lists.bullets;
    const inside = { ...nesting, lists: nesting.lists + 1 };
    const about = { style: 'ListParagraph', list: { id, level }, indent: indentOf(inside), hanging: LEVEL_INDENT };
    for (const { tokens } of items) {
      const { first, rest } = splitItem(tokens);
      yield this.#paragraph(first, about);
      yield* this.blocks(rest, inside);
    }
  }

  #table({ header, rows }: Tokens.Table | Tokens.Generic, indent: number): Generator<string> {
    const rtl = isRightToLeft(textOfTokens(header.flatMap(({ tokens }: Tokens.TableCell) => tokens)));
    return table(header, rows, {
      indent,
      rtl,
      // A cell without letters, such as a number, has the direction of its table.
      cell: ({ tokens, align, header: bold }) => this.#paragraph(tokens, { style: 'Cell', align, rtl }, bold),
    });
  }

  #paragraph(tokens: readonly Token[], about: ParagraphStyle, bold = false): string {
    const rtl = isRightToLeft(textOfTokens(tokens), about.rtl);
    return paragraph(this.#parts.inline.runs(tokens, { rtl, bold }), { ...about, rtl });
  }
}

function indentOf({ lists, quotes }: Nesting): number {
  return Math.min(Math.min(lists, LIST_LEVELS) * LEVEL_INDENT + quotes * QUOTE_INDENT, MAX_INDENT);
}

/** Splits an item into the line next to its bullet, with a checkbox if there is one, and the blocks below. */
function splitItem(tokens: readonly Token[]): { first: Token[]; rest: Token[] } {
  const [box, text] = tokens[0]?.type === 'checkbox' ? [tokens[0], tokens[1]] : [undefined, tokens[0]];
  const boxes = box ? [box] : [];
  const isText = text?.type === 'text' || text?.type === 'paragraph';
  return {
    first: isText ? [...boxes, text] : boxes,
    rest: tokens.slice(boxes.length + (isText ? 1 : 0)),
  };
}
