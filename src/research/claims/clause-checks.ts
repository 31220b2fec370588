import { ALL, HEDGES, NEGATIONS, OPPOSITES, RANKED, SOME, SUPERLATIVES } from './lexicon.ts';
import { sameDate } from './text/dates.ts';
import { sameFigure } from './text/figures.ts';
import type { Clause, Parsed } from './text/parsed.ts';
import { spoken } from './text/word-list.ts';
import { isOneOf } from './text/words.ts';

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
  const isToCome = TO_COME.test(claim.sentence.text.toLowerCase());
  const isOpen = isToCome || NEGATIONS.isIn(claim.sentence.spoken);
  if (isOnlyPlanned(claim.clause, source) && !isOpen && !isHedged(claim.sentence, wholeOf(claim.sentence))) {
    doubts.push('hedge');
  }
  if (isMore(claim.clause, source.clause)) doubts.push('extent');
  return doubts;
}

/** The future of Spanish and Italian is an ending that folding takes away. */
const FUTURE = /(?<!\p{L})\p{L}{2,}(?:r[áà]n?|ranno)(?!\p{L})/u;

/** Other words for what is to come: they are enough in a claim. */
const TO_COME =
  /(?<!\p{L})(?:wird|werden|sera|seront|\p{L}{2,}(?:rait|raient|ira|era|eront|iront)|going to|would|could|potential\p{L}*|möglich\p{L}*|zukünftig|künftig|könnt\p{L}*|est attendue?|se prevé|previsión|in programma)(?!\p{L})|将|予定|見通/u;

function isHedged(sentence: Parsed, clause: Pick<Clause, 'start' | 'end' | 'spoken'>): boolean {
  return HEDGES.isIn(clause.spoken) || FUTURE.test(sentence.text.slice(clause.start, clause.end));
}

/** Whether the clause that says most is only planned, or one beside it that has a date or figure of the claim. */
function isOnlyPlanned(claim: Clause, { clause, sentence }: { clause: Clause; sentence: Parsed }): boolean {
  const facts = { words: [], figures: claim.figures, dates: claim.dates };
  return sentence.clauses.some((each) => (each === clause || likeness(facts, each) > 0) && isHedged(sentence, each));
}

function wholeOf({ folded, spoken }: Parsed): Pick<Clause, 'start' | 'end' | 'spoken'> {
  return { start: 0, end: folded.length, spoken };
}

/** What only says how exact a figure is, and goes into no direction. */
const EXACTNESS =
  /(?<!\p{L})(?:more|less|fewer|mehr|weniger|plus|moins|mas|menos|piu|meno) (?:than|als|de|d'|di|del)(?= ?[\d$€£])|(?<!\p{L})(?:up to|above|over|below)(?= [\d$€£])|超过\d|多于\d/gu;

function isOpposed(claim: { clause: Clause }, source: { clause: Clause; sentence: Parsed }): boolean {
  const said = spoken(claim.clause.text.replace(EXACTNESS, ' '));
  const near = spoken(source.clause.text.replace(EXACTNESS, ' '));
  const far = spoken(source.sentence.folded.replace(EXACTNESS, ' '));
  return OPPOSITES.some(([one, other]) => {
    const [saidOne, saidOther] = [one.isIn(said), other.isIn(said)];
    if (saidOne === saidOther) return false;
    // What the clause itself does not say, its sentence may.
    const found = one.isIn(near) || other.isIn(near) ? near : far;
    const [foundOne, foundOther] = [one.isIn(found), other.isIn(found)];
    return foundOne !== foundOther && saidOne !== foundOne && NEGATIONS.isIn(said) === NEGATIONS.isIn(found);
  });
}

/** Whether a claim says all, or the first, where its source says a part, or the second. */
function isMore({ spoken: claim }: Clause, { spoken: source }: Clause): boolean {
  if (ALL.isIn(claim) && !ALL.isIn(source) && SOME.isIn(source) && !SOME.isIn(claim)) return true;
  if (!SUPERLATIVES.isIn(claim)) return false;
  return RANKED.isIn(source) !== RANKED.isIn(claim) || (ONE_OF.test(source.text) && !ONE_OF.test(claim.text));
}
const ONE_OF =
  /(?<!\p{L})(?:one of|among the|eine[rs]? der|un[ea]? des|un[oa] de l[ao]s|un[oa] de(?:i|lle|gli))(?!\p{L})|之一|の一つ/u;
