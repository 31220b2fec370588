import type { ClauseOf } from '../likeness.ts';
import { CJK } from '../text/fold.ts';
import type { Clause } from '../text/parse-sentence.ts';
import { containsWord, isOneOf } from '../text/words.ts';
import { DIRECTIONS, EXCLUSIVE, NEGATIONS } from './lexicon.ts';

/** Phrases that only say how exact a figure is, and that indicate no direction. */
const EXACTNESS =
  /(?<!\p{L})(?:more|less|fewer|mehr|weniger|plus|moins|mas|menos|piu|meno) (?:than|als|de|d'|di|del)(?= ?[\d$€£]| (?:(?:an?|the|die|der|ein\p{L}*|une?|una|la|le|el|il) )?(?:half|halfte|moitie|mitad|meta|third|drittel|tiers|quarter|viertel|quart|fifth|funftel|tenth|zehntel|hundred|hundert|thousand|tausend|million)| (?:an?|ein\p{L}*|une?|una) (?:decade|jahrzehnt|century|jahrhundert|year|jahr|month|monat|week|woche|day|tag|hour|stunde))|(?<!\p{L})(?:up to|above|over|below)(?= [\d$€£])|超过\d|多于\d/gu;

/** Whether a clause rises where its source falls. */
export function isOpposed(own: Clause, { clause, sentence }: ClauseOf): boolean {
  const ownText = withoutExactness(own.text);
  const wholeSentence = withoutExactness(sentence.folded);
  // In a claim with words of both sides, those that its source has, too, make no difference: `the decline was faster`.
  const isBoth = DIRECTIONS.every((list) => list.isIn(ownText));
  const mine = sideOf(ownText, isBoth ? wholeSentence : undefined);
  if (!mine) return false;
  // If the clause itself takes no side, its sentence may.
  const texts = [withoutExactness(clause.text), wholeSentence];
  const theirs = texts.map((text) => sideOf(text, isBoth ? ownText : undefined));
  const found = theirs[0] ?? theirs[1];
  return found !== undefined && found.isFirst !== mine.isFirst && found.isDenied === mine.isDenied;
}

/** Whether two clauses with mostly the same words have words that exclude each other: `north` for `south`. */
export function isRuledOut(own: Clause, { clause }: ClauseOf): boolean {
  const common = own.words.filter((word) => isOneOf(word, clause.words)).length;
  if (common < MIN_COMMON || common < own.words.length * COMMON_SHARE) return false;
  return EXCLUSIVE.some((sides) => {
    const [mine, theirs] = [own, clause].map(withoutFigures).map((text) => sides.filter((side) => side.isIn(text)));
    return mine?.length === 1 && theirs?.length === 1 && mine[0] !== theirs[0];
  });
}

/** The text of a clause without its figures, which are compared with their units: `six months` is `half a year`. */
function withoutFigures({ text, start: from, figures }: Clause): string {
  return figures.reduceRight((left, { start, end }) => left.slice(0, start - from) + left.slice(end - from), text);
}
const MIN_COMMON = 3;
const COMMON_SHARE = 0.6;

function withoutExactness(text: string): string {
  return text.replace(EXACTNESS, ' ');
}

/** Which direction a text states, ignoring words that `without` has, too; undefined if neither or both. */
function sideOf(text: string, without?: string): { isFirst: boolean; isDenied: boolean } | undefined {
  const [first = [], second = []] = DIRECTIONS.map((list) =>
    list.in(text).filter((word) => !without || !has(without, word)),
  );
  if (first.length > 0 === second.length > 0) return undefined;
  // A negation inside a matched word, such as `不要`, negates nothing else.
  const rest = [...first, ...second].reduce((left, word) => (CJK.test(word) ? left.replaceAll(word, ' ') : left), text);
  return { isFirst: first.length > 0, isDenied: NEGATIONS.isIn(rest) };
}

function has(text: string, word: string): boolean {
  return CJK.test(word) ? text.includes(word) : containsWord(word, text);
}
