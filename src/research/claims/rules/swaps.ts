import { sameDate } from '../text/dates.ts';
import type { Figure } from '../text/figures.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { sameFigure } from '../text/same-figure.ts';
import { isBoundElsewhere } from './bindings.ts';
import { isAmong, type Mark, marksOf } from './marks.ts';

/** Rules for claims that combine what their source says about different things. Only positions can tell. */

/** Whether figures, names or words of a claim belong to something else in a passage. */
export function isSwapped(claim: Sentence, passage: readonly Sentence[]): boolean {
  const own = clausesOf([claim]);
  return (
    claim.clauses.some((clause) => isDatedElsewhere(clause, passage)) ||
    isCrossed(own, clausesOf(passage.filter(({ text }) => !text.startsWith('|')))) ||
    passage.some((sentence) => reachesEarlier(claim, sentence)) ||
    own.some((clause) => isBoundElsewhere(clause, own.flat(), marksOf(passage)))
  );
}

/** How many marks of a sentence are compared; longer sentences are lists. */
const MAX_MARKS = 80;

/** The marks of sentences by clause. */
function clausesOf(sentences: readonly Sentence[]): Mark[][] {
  const marks = sentences.flatMap((sentence) => marksOf([sentence]).slice(0, MAX_MARKS));
  return [...Map.groupBy(marks, ({ clause }) => clause).values()];
}

/** Whether a claim says that something came to a figure which is the earlier one in the source: `fell to 44 %` for `61 %, up from 44 %`. */
function reachesEarlier(claim: Sentence, source: Sentence): boolean {
  const follows = ({ start }: Figure, { folded }: Sentence, words: RegExp) =>
    words.test(folded.slice(Math.max(0, start - 24), start));
  return claim.figures.some((figure) => {
    if (!follows(figure, claim, TO)) return false;
    const places = source.figures.filter((other) => sameFigure(figure, other));
    return places.length > 0 && places.every((place) => follows(place, source, INSTEAD_OF));
  });
}
const TO = /(?<!\p{L})(?:to|auf|a|hasta) \p{Sc}?$/u;
const INSTEAD_OF =
  /(?<!\p{L})(?:compared (?:with|to)|(?:up|down) from|versus|vs\.?|contre|gegenuber|frente a|rispetto a\p{L}{0,4}) (?:(?:the|les?|los|las?|i) )?\p{Sc}?$/u;

/** Whether two clauses of the claim each combine parts of the same two clauses of the source, crosswise. */
function isCrossed(claim: readonly Mark[][], source: readonly Mark[][]): boolean {
  const shared = claim.map((own) => source.map((theirs) => own.filter((mark) => isAmong(mark, theirs))));
  return shared.some((one, at) =>
    shared
      .slice(at + 1)
      .some((other) =>
        source.some((_, left) =>
          source.some(
            (_, right) => left < right && isSplit(one[left], one[right]) && isSplit(other[left], other[right]),
          ),
        ),
      ),
  );
}

/** Whether each of two lists has something that the other lacks. */
function isSplit(a: readonly Mark[] = [], b: readonly Mark[] = []): boolean {
  return a.some((mark) => !b.includes(mark)) && b.some((mark) => !a.includes(mark));
}

/**
 * Whether the figures of a clause appear in a source only with other dates, while the clause's own date is elsewhere in
 * it: `2018 | 1,204,000` for `1,204,000 in 2019, less than in 2018`.
 */
export function isDatedElsewhere(
  { figures, dates }: Pick<Clause, 'figures' | 'dates'>,
  source: readonly Sentence[],
): boolean {
  const [date, another] = dates;
  if (!date || another || figures.length === 0) return false;
  const clauses = source.flatMap((sentence) => sentence.clauses);
  const hasDate = (clause: Clause) => clause.dates.some((other) => sameDate(date, other));
  if (!clauses.some(hasDate)) return false;
  return figures.some((figure) => {
    const places = clauses.filter((clause) => clause.figures.some((other) => sameFigure(figure, other)));
    return places.length > 0 && places.every((clause) => clause.dates.length > 0 && !hasDate(clause));
  });
}
