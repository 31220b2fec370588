import { LONGEST_PASSAGE, passagesFor, shownPassages } from './passages.ts';
import { supportOfQuote } from './support.ts';
import { foldText } from './text/fold.ts';
import { parseSentence, type Sentence } from './text/parse-sentence.ts';
import { SourceText } from './text/source-text.ts';

/** Finds what a model quotes in a source: models change the punctuation, leave parts out, or quote inexactly. */

/** What a model writes in place of omitted words. */
const ELLIPSIS = /\[?(?:\.{3}|…)\]?/;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Longer quotes are ignored, in UTF-16 code units. */
const LONGEST_NAMED = 4000;
/** How many words are compared for one quote; only a page that repeats itself needs more. */
const MAX_LOOKS = 100_000;
/** The share of a quote's words that a passage must have if the quote is not verbatim. */
const ALMOST = 0.8;

/**
 * The words of a source that a model meant by its quote, at most 400 characters; undefined if there are none. Prefers
 * another passage that the model saw, if only that one supports the claim.
 */
export function findQuote(claim: Sentence, named: string, source: SourceText): string | undefined {
  const range = named.length > LONGEST_NAMED ? undefined : (rangeOf(named, source) ?? inexactRangeOf(named, source));
  if (!range) return undefined;
  const seen = new Set<string>();
  for (const place of [range, ...shownPassages(claim, source)]) {
    for (const words of textsOf(claim, place, source)) {
      if (!seen.has(words) && supportOfQuote(claim, words, source) === 'quoted') return words;
      seen.add(words);
    }
  }
  return [...seen][0];
}

/** The text of a place, or the best passages of a long one. */
function textsOf(claim: Sentence, { start, end }: Range, source: SourceText): string[] {
  const text = source.text.slice(start, end).trim();
  if (text.length <= LONGEST_PASSAGE) return [text];
  const part = SourceText.open({ title: source.title, text });
  return passagesFor(claim, part).map((place) => part.text.slice(place.start, place.end).trim());
}

interface Range {
  start: number;
  end: number;
}

/** The range of a quote, from its first part to its last if words were left out. */
function rangeOf(named: string, source: SourceText): Range | undefined {
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
const MAX_SIGNS = 8;
const LETTER = /[\p{L}\p{M}\p{N}]/u;

/** Punctuation that belongs to the word before it. */
const CLOSING = /[.!?…。！？।"'”’»」』)）%‰]/;

/** A passage that has nearly all words of the quote. */
function inexactRangeOf(named: string, source: SourceText): Range | undefined {
  const tokens = foldText(named).match(WORD) ?? [];
  if (tokens.length < 4) return undefined;
  const [best] = passagesFor(parseSentence(named), source);
  if (!best) return undefined;
  const theirs = new Set(source.folded.slice(best.start, best.end).match(WORD));
  return tokens.filter((token) => theirs.has(token)).length >= tokens.length * ALMOST ? best : undefined;
}
