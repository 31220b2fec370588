import { EXCLUSIVE, HEDGES, NEGATIONS, OPPOSITES, RANKED } from './lexicon.ts';
import { sameDate } from './text/dates.ts';
import { CJK, foldedPattern } from './text/fold.ts';
import type { Clause, Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import type { WordList } from './text/word-list.ts';
import { containsWord, isOneOf } from './text/words.ts';

/** Compares a clause of a claim with the clause of its source that it seems to rest on. */

/** Why a passage does not support a claim although both are about the same. */
export type Doubt = 'figure' | 'date' | 'name' | 'negation' | 'direction' | 'hedge' | 'extent' | 'swap' | 'words';

type Facts = Pick<Clause, 'words' | 'figures' | 'dates'>;

/** How similar two clauses are: figures and dates weigh most, then names, then words. */
export function likeness(claim: Facts, source: Facts): number {
  let shared = 0;
  for (const word of claim.words) if (isOneOf(word, source.words)) shared += word.isName ? 1.5 : 1;
  for (const figure of claim.figures) {
    // The number of a name, such as `COVID-19`, says no more than the name.
    if (figure.label === undefined && source.figures.some((other) => sameFigure(figure, other))) shared += 3;
  }
  for (const date of claim.dates) if (source.dates.some((other) => sameDate(date, other))) shared += 2;
  return shared;
}

/** The doubts that arise when a clause of a claim is compared with a clause of its source. */
export function doubtsOfClause(
  claim: { clause: Clause; sentence: Sentence },
  source: { clause: Clause; sentence: Sentence },
): Doubt[] {
  const doubts: Doubt[] = [];
  if (isOpposed(claim, source) || isExcluded(claim, source)) doubts.push('direction');
  const text = claim.sentence.text.toLowerCase();
  const isFuture = TO_COME.test(text) || (claim.sentence.language === 'fr' && FRENCH_FUTURE.test(text));
  const isOpen = isFuture || NEGATIONS.isIn(claim.sentence.folded);
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

/** An expression over lower-case letters that is cheaper to compile. */
function lettered({ source, flags }: RegExp): RegExp {
  return new RegExp(foldedPattern(source), flags);
}

/** The future of Spanish and Italian verbs: its accents are lost when text is folded. */
const FUTURE = lettered(/(?<!\p{L})\p{L}{2,}(?:r[áà]n?|ranno)(?!\p{L})/u);

/** Further words for the future or for a possibility: in a claim they are enough to count as hedged. */
const TO_COME = lettered(
  /(?<!\p{L})(?:can|allowed|permitted|entitled|whether|kann|können|darf|dürfen|ob|targets?|goal|aim|objecti[fv]\p{L}*|objetiv\p{L}*|obiettiv\p{L}*|ziel\p{L}*|predict\p{L}*|anticipat\p{L}*|thought|fear\p{L}*|posib\p{L}*|possib\p{L}*|vorgenommen|wird|werden|sera|seront|going to|would|could|potential\p{L}*|möglich\p{L}*|zukünftig|künftig|könnt\p{L}*|est attendue?|se prevé|previsión|in programma)(?!\p{L})|将|予定|見通|目标|目標/u,
);

/** The future and the conditional of French verbs. In other languages nouns have the same endings: `salmuera`. */
const FRENCH_FUTURE = lettered(/(?<!\p{L})\p{L}{2,}(?:rait|raient|ira|era|eront|iront)(?!\p{L})/u);

function isHedged({ text, folded }: Sentence, { start, end }: Pick<Clause, 'start' | 'end'>): boolean {
  return HEDGES.isIn(folded.slice(start, end)) || FUTURE.test(text.slice(start, end));
}

/** Whether the best clause is hedged, or another clause of its sentence that has a date or figure of the claim. */
function isOnlyPlanned(claim: Clause, { clause, sentence }: { clause: Clause; sentence: Sentence }): boolean {
  const facts = { words: [], figures: claim.figures, dates: claim.dates };
  const otherWords = claim.words.filter((word) => !isOneOf(word, clause.words));
  return sentence.clauses.some(
    (each) =>
      (each === clause ||
        likeness(facts, each) > 0 ||
        (CJK.test(claim.text) && likeness({ ...facts, words: otherWords }, each) > 1)) &&
      isHedged(sentence, each),
  );
}

/** Phrases that only say how exact a figure is, and that indicate no direction. */
const EXACTNESS = lettered(
  /(?<!\p{L})(?:more|less|fewer|mehr|weniger|plus|moins|mas|menos|piu|meno) (?:than|als|de|d'|di|del)(?= ?[\d$€£]| (?:(?:an?|the|die|der|ein\p{L}*|une?|una|la|le|el|il) )?(?:half|halfte|moitie|mitad|meta|third|drittel|tiers|quarter|viertel|quart|fifth|funftel|tenth|zehntel|hundred|hundert|thousand|tausend|million)| (?:an?|ein\p{L}*|une?|una) (?:decade|jahrzehnt|century|jahrhundert|year|jahr|month|monat|week|woche|day|tag|hour|stunde))|(?<!\p{L})(?:up to|above|over|below)(?= [\d$€£])|超过\d|多于\d/gu,
);

function isOpposed(
  { clause: own }: { clause: Clause },
  { clause, sentence }: { clause: Clause; sentence: Sentence },
): boolean {
  const ownText = withoutExactness(own.text);
  const wholeSentence = withoutExactness(sentence.folded);
  return OPPOSITES.some((pair) => {
    const [isOne, isOther] = pair.map((list) => list.isIn(ownText));
    // In a claim with words of both sides, those that its source has, too, make no difference: `the decline was faster`.
    const isBoth = isOne && isOther;
    const mine = sideOf(ownText, pair, isBoth ? wholeSentence : undefined);
    if (!mine) return false;
    // If the clause itself takes no side, its sentence may.
    const texts = [withoutExactness(clause.text), wholeSentence];
    const theirs = texts.map((text) => sideOf(text, pair, isBoth ? ownText : undefined));
    const found = theirs[0] ?? theirs[1];
    return found !== undefined && found.isFirst !== mine.isFirst && found.isDenied === mine.isDenied;
  });
}

/** Whether two clauses with mostly the same words have words that exclude each other. */
function isExcluded(
  claim: { clause: Clause; sentence: Sentence },
  source: { clause: Clause; sentence: Sentence },
): boolean {
  const { words } = claim.clause;
  const common = words.filter((word) => isOneOf(word, source.clause.words)).length;
  if (common < 3 || common < words.length * 0.6) return false;
  return EXCLUSIVE.some((sides) => {
    const [mine, theirs] = [claim.clause.text, source.clause.text].map((text) =>
      sides.filter((side) => side.isIn(text)),
    );
    const [own] = mine ?? [];
    return mine?.length === 1 && theirs?.length === 1 && own !== theirs[0] && !own?.isIn(source.sentence.folded);
  });
}

function withoutExactness(text: string): string {
  return text.replace(EXACTNESS, ' ');
}

/** Which of two opposites a text states, ignoring words that `without` has, too; undefined if neither or both. */
function sideOf(
  text: string,
  pair: readonly [WordList, WordList],
  without?: string,
): { isFirst: boolean; isDenied: boolean } | undefined {
  const [first = [], second = []] = pair.map((list) => list.in(text).filter((word) => !without || !has(without, word)));
  if (first.length > 0 === second.length > 0) return undefined;
  // A negation inside a matched word, such as `不要`, negates nothing else.
  const rest = [...first, ...second].reduce((left, word) => (CJK.test(word) ? left.replaceAll(word, ' ') : left), text);
  return { isFirst: first.length > 0, isDenied: NEGATIONS.isIn(rest) };
}

function has(text: string, word: string): boolean {
  return CJK.test(word) ? text.includes(word) : containsWord(word, text);
}
