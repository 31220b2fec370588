import { LONGEST_PASSAGE, passagesFor, shownPassages } from './passages.ts';
import { supportOfNamed } from './support.ts';
import { foldText } from './text/fold.ts';
import { type Parsed, parseSentence } from './text/parsed.ts';
import { SourceText } from './text/source-text.ts';

/** Words that a model named of a source, as they stand there: models copy them with other signs, cut, or almost. */

/** What a model writes between the first and the last words of a passage. */
const ELLIPSIS = /\[?(?:\.{3}|…)\]?/;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Longer words are no passage, in UTF-16 code units. */
const LONGEST_NAMED = 4000;
/** Words that are looked at for one passage: more are a page that repeats itself. */
const MAX_LOOKS = 100_000;
/** The part of the named words that a passage has to have where they stand nowhere as they are. */
const ALMOST = 0.8;

/**
 * The words of a source that a model meant with its own, at most 400 characters; undefined where it has no such words. Where
 * others that it was shown have more of the claim's figures, those.
 */
export function namedWords(claim: Parsed, named: string, source: SourceText): string | undefined {
  const range = named.length > LONGEST_NAMED ? undefined : (rangeOf(named, source) ?? almost(named, source));
  if (!range) return undefined;
  const seen = new Set<string>();
  for (const place of [range, ...shownPassages(claim, source)]) {
    for (const words of shortened(claim, place, source)) {
      if (!seen.has(words) && supportOfNamed(claim, words, source) === 'quoted') return words;
      seen.add(words);
    }
  }
  return [...seen][0];
}

/** The words of a place, or the parts of a long one, those first that carry most. */
function shortened(claim: Parsed, { start, end }: Range, source: SourceText): string[] {
  const text = source.text.slice(start, end).trim();
  if (text.length <= LONGEST_PASSAGE) return [text];
  const part = SourceText.open({ title: source.title, text });
  return passagesFor(claim, part).map((place) => part.text.slice(place.start, place.end).trim());
}

interface Range {
  start: number;
  end: number;
}

/** Where the words stand, from the first part to the last where something was left out between. */
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

/** The place of some words one behind the other, whatever signs stand between them. */
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

/** The beginning of the next word behind a place, if it is near. */
function startOfWord(text: string, place: number): number {
  let at = place;
  while (at - place < MAX_SIGNS && at < text.length && !LETTER.test(text[at] ?? '')) at++;
  return at;
}
const MAX_SIGNS = 8;
const LETTER = /[\p{L}\p{M}\p{N}]/u;

/** What belongs to the words before it. */
const CLOSING = /[.!?…。！？।"'”’»」』)）%‰]/;

/** A passage that has nearly all of the words. */
function almost(named: string, source: SourceText): Range | undefined {
  const tokens = foldText(named).match(WORD) ?? [];
  if (tokens.length < 4) return undefined;
  const [best] = passagesFor(parseSentence(named), source);
  if (!best) return undefined;
  const theirs = new Set(source.folded.slice(best.start, best.end).match(WORD));
  return tokens.filter((token) => theirs.has(token)).length >= tokens.length * ALMOST ? best : undefined;
}
