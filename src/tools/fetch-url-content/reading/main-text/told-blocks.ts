import { stripMarkup } from '../../../text/strip-markup.ts';
import { type Block, lettersOf } from '../html/blocks.ts';

/** How much of a text is compared, and from which length on it may begin within another one; in letters. */
const MAX_COMPARED = 60;
const PART = 30;
/** The shortest text, in letters, and how many blocks may make up one, such as an amount and its ingredient. */
const MIN_TEXT = 3;
const MAX_BLOCKS = 4;
/** The number of a step before its text. */
const NUMBER = /^(?:\p{L}{1,10} )?\d{1,2}[.):]?\s*(?=\p{Lu})/u;

/** Indexes of the blocks that repeat one of `texts`, or begin as one of their sentences does. A link alone does not count. */
export function toldBlocks(blocks: readonly Block[], texts: readonly string[]): Set<number> {
  const whole = new Set<string>();
  const parts = new Set<string>();
  for (const text of texts) {
    const { letters, starts } = sentencesOf(text);
    if (letters.length >= MIN_TEXT) whole.add(letters.slice(0, MAX_COMPARED));
    for (const start of starts) if (letters.length >= start + PART) parts.add(letters.slice(start, start + PART));
  }
  const told = new Set<number>();
  if (whole.size === 0) return told;
  for (const [at, { text, linked }] of blocks.entries()) {
    if (linked === text.length) continue;
    const own = lettersOf(text.replace(NUMBER, ''), MAX_COMPARED);
    if (whole.has(own) || parts.has(own.slice(0, PART))) told.add(at);
    let letters = '';
    for (let end = at; end < Math.min(at + MAX_BLOCKS, blocks.length); end++) {
      letters = (letters + lettersOf(blocks[end]?.text ?? '', MAX_COMPARED)).slice(0, MAX_COMPARED);
      if (whole.has(letters)) for (let index = at; index <= end; index++) told.add(index);
    }
  }
  return told;
}

/** The letters of a text, and where its sentences and elements begin among them. */
function sentencesOf(text: string): { letters: string; starts: number[] } {
  const pieces: string[] = [];
  const starts: number[] = [];
  let length = 0;
  for (const sentence of text.split(/(?<=[.!?:。>]|\n)/)) {
    const piece = lettersOf(stripMarkup(sentence), sentence.length);
    starts.push(length);
    pieces.push(piece);
    length += piece.length;
  }
  return { letters: pieces.join(''), starts };
}
