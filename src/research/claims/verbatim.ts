import { LONGEST_PASSAGE } from './passages.ts';
import { foldText } from './text/fold.ts';
import type { SourceText } from './text/source-text.ts';

/** Finds words in a source in sequence, whatever punctuation is between them. */

export interface Range {
  start: number;
  end: number;
}

/** What a model writes in place of omitted words. */
const ELLIPSIS = /\[?(?:\.{3}|…)\]?/;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** How many words are compared for one quote; only a page that repeats itself needs more. */
const MAX_LOOKS = 100_000;

/** The range of a quote, from its first part to its last if words were left out. */
export function rangeOf(named: string, source: SourceText): Range | undefined {
  let whole: Range | undefined;
  const looks = { left: MAX_LOOKS };
  for (const part of named.split(ELLIPSIS)) {
    const found = placeOf(part, source, { from: whole?.end ?? 0, looks });
    if (found && whole && found.end - whole.start > LONGEST_PASSAGE) return whole;
    if (found) whole = { start: whole?.start ?? found.start, end: found.end };
    else if (/[\p{L}\p{N}]/u.test(part)) return undefined;
  }
  return whole;
}

/** The place of words in sequence, whatever punctuation is between them. */
function placeOf(
  words: string,
  { folded }: SourceText,
  { from, looks }: { from: number; looks: { left: number } },
): Range | undefined {
  const tokens = foldText(words).match(WORD) ?? [];
  const [first] = tokens;
  if (first === undefined) return undefined;
  for (let at = folded.indexOf(first, from); at !== -1 && looks.left > 0; at = folded.indexOf(first, at + 1)) {
    let end = at;
    const isThere = tokens.every((token) => {
      looks.left--;
      const start = end === at ? at : startOfWord(folded, end);
      end = start + token.length;
      return folded.startsWith(token, start);
    });
    if (!isThere) continue;
    while (CLOSING.test(folded[end] ?? '')) end++;
    return { start: at, end };
  }
  return undefined;
}

/** The start of the next word after a place, if it is near. */
function startOfWord(text: string, place: number): number {
  let at = place;
  while (at - place < MAX_SIGNS && at < text.length && !LETTER.test(text[at] ?? '')) at++;
  return at;
}
/** The row below the headings of a table is that long. */
const MAX_SIGNS = 48;
const LETTER = /[\p{L}\p{M}\p{N}]/u;

/** Punctuation that belongs to the word before it. */
const CLOSING = /[.!?…。！？।"'”’»」』)）%‰]/;
