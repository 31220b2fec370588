import { LONGEST_PASSAGE, passagesFor, shownPassages } from './passages.ts';
import { supportOfQuote } from './support.ts';
import { foldText } from './text/fold.ts';
import { parseSentence, type Sentence } from './text/parse-sentence.ts';
import { SourceText } from './text/source-text.ts';
import { type Range, rangeOf } from './verbatim.ts';

/** Finds what a model quotes in a source: models change the punctuation, leave parts out, or quote inexactly. */

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Longer quotes are ignored, in UTF-16 code units. */
const LONGEST_NAMED = 4000;
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

/** A passage that has nearly all words of the quote. */
function inexactRangeOf(named: string, source: SourceText): Range | undefined {
  const tokens = foldText(named).match(WORD) ?? [];
  if (tokens.length < 4) return undefined;
  const [best] = passagesFor(parseSentence(named), source);
  if (!best) return undefined;
  const theirs = new Set(source.folded.slice(best.start, best.end).match(WORD));
  return tokens.filter((token) => theirs.has(token)).length >= tokens.length * ALMOST ? best : undefined;
}
