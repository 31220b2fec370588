import { HEDGES, NEGATIONS, OPPOSITES, RANKED } from './lexicon.ts';
import { sameDate } from './text/dates.ts';
import { CJK, foldedPattern } from './text/fold.ts';
import type { Clause, Parsed } from './text/parsed.ts';
import { sameFigure } from './text/same-figure.ts';
import type { WordList } from './text/word-list.ts';
import { isOneOf, standsAlone } from './text/words.ts';

/** What a part of a claim says against what the part of its source says that it rests on. */

/** Why a passage does not carry a claim although both speak of the same. */
export type Doubt = 'figure' | 'date' | 'name' | 'negation' | 'direction' | 'hedge' | 'extent' | 'swap' | 'words';

type Facts = Pick<Clause, 'words' | 'figures' | 'dates'>;

/** How much two clauses share: figures and dates most, then names, then words. */
export function likeness(claim: Facts, source: Facts): number {
  let shared = 0;
  for (const word of claim.words) if (isOneOf(word, source.words)) shared += word.isName ? 1.5 : 1;
  for (const figure of claim.figures) if (source.figures.some((other) => sameFigure(figure, other))) shared += 3;
  for (const date of claim.dates) if (source.dates.some((other) => sameDate(date, other))) shared += 2;
  return shared;
}

/** The doubts that words of a clause of a claim raise, held against the clause of its source. */
export function doubtsOfClause(
  claim: { clause: Clause; sentence: Parsed },
  source: { clause: Clause; sentence: Parsed },
): Doubt[] {
  const doubts: Doubt[] = [];
  if (isOpposed(claim, source)) doubts.push('direction');
  const text = claim.sentence.text.toLowerCase();
  const isToCome = TO_COME.test(text) || (claim.sentence.language === 'fr' && FRENCH_FUTURE.test(text));
  const isOpen = isToCome || NEGATIONS.isIn(claim.sentence.folded);
  if (
    isOnlyPlanned(claim.clause, source) &&
    !isOpen &&
    !isHedged(claim.sentence, { start: 0, end: Number.POSITIVE_INFINITY })
  ) {
    doubts.push('hedge');
  }
  if (RANKED.isIn(source.clause.text) && !RANKED.isIn(claim.sentence.folded)) doubts.push('extent');
  return doubts;
}

/** An expression of small letters that costs less to compile. */
function lettered({ source, flags }: RegExp): RegExp {
  return new RegExp(foldedPattern(source), flags);
}

/** The future of Spanish and Italian is an ending that folding takes away. */
const FUTURE = lettered(/(?<!\p{L})\p{L}{2,}(?:r[áà]n?|ranno)(?!\p{L})/u);

/** Other words for what is to come, or for what may be done: they are enough in a claim. */
const TO_COME = lettered(
  /(?<!\p{L})(?:can|allowed|permitted|entitled|whether|kann|können|darf|dürfen|ob|targets?|goal|aim|objecti[fv]\p{L}*|objetiv\p{L}*|obiettiv\p{L}*|ziel\p{L}*|predict\p{L}*|anticipat\p{L}*|thought|fear\p{L}*|posib\p{L}*|possib\p{L}*|vorgenommen|wird|werden|sera|seront|going to|would|could|potential\p{L}*|möglich\p{L}*|zukünftig|künftig|könnt\p{L}*|est attendue?|se prevé|previsión|in programma)(?!\p{L})|将|予定|見通|目标|目標/u,
);

/** The future and the conditional of French, whose endings are those of nouns elsewhere: `salmuera`. */
const FRENCH_FUTURE = lettered(/(?<!\p{L})\p{L}{2,}(?:rait|raient|ira|era|eront|iront)(?!\p{L})/u);

function isHedged({ text, folded }: Parsed, { start, end }: Pick<Clause, 'start' | 'end'>): boolean {
  return HEDGES.isIn(folded.slice(start, end)) || FUTURE.test(text.slice(start, end));
}

/** Whether the clause that says most is only planned, or one beside it that has a date or figure of the claim. */
function isOnlyPlanned(claim: Clause, { clause, sentence }: { clause: Clause; sentence: Parsed }): boolean {
  const facts = { words: [], figures: claim.figures, dates: claim.dates };
  const more = claim.words.filter((word) => !isOneOf(word, clause.words));
  return sentence.clauses.some(
    (each) =>
      (each === clause ||
        likeness(facts, each) > 0 ||
        (CJK.test(claim.text) && likeness({ ...facts, words: more }, each) > 1)) &&
      isHedged(sentence, each),
  );
}

/** What only says how exact a figure is, and goes into no direction. */
const EXACTNESS = lettered(
  /(?<!\p{L})(?:more|less|fewer|mehr|weniger|plus|moins|mas|menos|piu|meno) (?:than|als|de|d'|di|del)(?= ?(?:[\d$€£]|(?:a|the|die|der|la|le|el|il) ))|(?<!\p{L})(?:up to|above|over|below)(?= [\d$€£])|超过\d|多于\d/gu,
);

function isOpposed(
  { clause: own }: { clause: Clause },
  { clause, sentence }: { clause: Clause; sentence: Parsed },
): boolean {
  const said = withoutExactness(own.text);
  const far = withoutExactness(sentence.folded);
  return OPPOSITES.some((pair) => {
    const [isOne, isOther] = pair.map((list) => list.isIn(said));
    // Of a claim that says both, the words that its source has, too, tell no difference: `the decline was faster`.
    const isBoth = isOne && isOther;
    const mine = sideOf(said, pair, isBoth ? far : undefined);
    if (!mine) return false;
    // What the clause itself does not say, its sentence may.
    const theirs = [withoutExactness(clause.text), far].map((text) => sideOf(text, pair, isBoth ? said : undefined));
    const found = theirs[0] ?? theirs[1];
    return found !== undefined && found.isFirst !== mine.isFirst && found.isDenied === mine.isDenied;
  });
}

function withoutExactness(text: string): string {
  return text.replace(EXACTNESS, ' ');
}

/** Which of two opposites a text says, by words that another text does not have; undefined where none, or both. */
function sideOf(
  text: string,
  pair: readonly [WordList, WordList],
  without?: string,
): { isFirst: boolean; isDenied: boolean } | undefined {
  const [first = [], second = []] = pair.map((list) => list.in(text).filter((word) => !without || !has(without, word)));
  if (first.length > 0 === second.length > 0) return undefined;
  // What a sign says of itself, `不要`, denies nothing more.
  const rest = [...first, ...second].reduce((left, word) => (CJK.test(word) ? left.replaceAll(word, ' ') : left), text);
  return { isFirst: first.length > 0, isDenied: NEGATIONS.isIn(rest) };
}

function has(text: string, word: string): boolean {
  return CJK.test(word) ? text.includes(word) : standsAlone(word, text);
}
