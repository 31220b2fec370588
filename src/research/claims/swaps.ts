import { isBoundElsewhere } from './bindings.ts';
import { isAmong, type Mark, marksOf, sameMark } from './marks.ts';
import { sameDate } from './text/dates.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Clause, Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import { isOneOf, type Word } from './text/words.ts';

/**
 * Whether a claim combines what its source says about different things. Only positions can tell: what is in one clause
 * belongs together, and so does what is before and after the same words.
 */
export function isSwapped(claim: Sentence, context: readonly Sentence[]): boolean {
  const own = clausesOf(marksOf([claim]))
    .slice(0, MAX_CLAUSES)
    .map((marks) => marks.slice(0, MAX_OF_CLAUSE));
  if (claim.clauses.some((clause) => isDatedElsewhere(clause, context))) return true;
  const labels = labelled(claim);
  if (labels.length > 1 && context.some((sentence) => hasExchangedLabels(labels, labelled(sentence)))) return true;
  if (own.length > 1 && isCrossed(own, proseOf(context))) return true;
  if (claim.figures.length > 1 && context.some((sentence) => hasExchangedFigures(claim, sentence))) return true;
  if (context.some((sentence) => reachesEarlier(claim, sentence))) return true;
  const all = own.flat();
  if (all.every(({ isPlain }) => isPlain)) return false;
  const source = marksOf(context).slice(0, MAX_MARKS);
  return own.some((clause) => isBoundElsewhere(clause, all, source));
}

/** The clauses of sentences that are not table rows. */
function proseOf(context: readonly Sentence[]): Mark[][] {
  return clausesOf(marksOf(context.filter(({ text }) => !text.startsWith('|'))).slice(0, MAX_MARKS));
}

/** How many clauses and marks are compared; longer sentences are lists. */
const MAX_CLAUSES = 8;
const MAX_OF_CLAUSE = 30;
const MAX_MARKS = 240;
const MAX_OF_SENTENCE = 40;

function clausesOf(marks: readonly Mark[]): Mark[][] {
  return [...Map.groupBy(marks, ({ clause }) => clause).values()];
}

/** `from 25 to 80` for `from 80 to 25`; `A is older than B` for `B is older than A`. */
function hasExchangedLabels(own: readonly LabelledMark[], theirs: readonly LabelledMark[]): boolean {
  return own.some(({ mark: a, label: labelOfA }, at) =>
    own.slice(at + 1).some(({ mark: b, label: labelOfB }) => {
      if (labelOfA === labelOfB || !isOneKind(a, b) || sameMark(a, b)) return false;
      const inA = theirs.filter(({ mark }) => sameMark(a, mark)).map(({ label }) => label);
      const inB = theirs.filter(({ mark }) => sameMark(b, mark)).map(({ label }) => label);
      return inA.includes(labelOfB) && inB.includes(labelOfA) && !inA.includes(labelOfA) && !inB.includes(labelOfB);
    }),
  );
}

/**
 * Whether two figures follow the words that in the source precede the other one: `white 49 %, red 34 %` for `white makes
 * up 34 % and red 49 %`.
 */
function hasExchangedFigures(claim: Sentence, source: Sentence): boolean {
  const [x, y, third] = claim.figures.map((own) => source.figures.filter((other) => sameFigure(own, other)));
  const [a, b] = [x?.length === 1 ? x[0] : undefined, y?.length === 1 ? y[0] : undefined];
  if (!a || !b || a === b || third) return false;
  const inOrder = source.figures.filter((figure) => figure === a || figure === b);
  if (source.figures.indexOf(b) - source.figures.indexOf(a) !== (inOrder[0] === a ? 1 : -1)) return false;
  const [before, between] = wordsAround(claim, claim.figures);
  const [lead, middle] = wordsAround(source, inOrder);
  const [ofA, ofB] = inOrder[0] === a ? [lead, middle] : [middle, lead];
  const isOnly = (word: Word, here: readonly Word[], there: readonly Word[]) =>
    isOneOf(word, here) && !isOneOf(word, there);
  return (
    before.some((word) => isOnly(word, ofB, ofA) && !isOneOf(word, between)) &&
    between.some((word) => isOnly(word, ofA, ofB) && !isOneOf(word, before))
  );
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

/** The words before the first of two figures, and those between them. */
function wordsAround({ words }: Sentence, [first, second]: readonly { start: number }[]): [Word[], Word[]] {
  const at = first?.start ?? 0;
  return [
    words.filter(({ start }) => start < at),
    words.filter(({ start }) => start > at && start < (second?.start ?? 0)),
  ];
}

/** Two figures are also of one kind if only one of them has a unit: `from 25 to 80 minutes`. */
function isOneKind({ kind: a }: Mark, { kind: b }: Mark): boolean {
  return a.startsWith(b) || b.startsWith(a);
}

interface LabelledMark {
  mark: Mark;
  label: string;
}

/** The marks of a sentence with the function words before them or, in scripts without spaces, the particle after them. */
function labelled(sentence: Sentence): LabelledMark[] {
  const marks = marksOf([sentence]).slice(0, MAX_OF_SENTENCE);
  return marks.flatMap((mark) => {
    const label = labelOf(mark, sentence);
    return label === '' ? [] : [{ mark, label }];
  });
}

const START = '^';

function labelOf({ start, end }: Mark, { folded }: Sentence): string {
  if (CJK.test(folded)) return /^[」』]?([\u3040-\u309f]{1,3})/.exec(folded.slice(end, end + 4))?.[1] ?? '';
  const before = folded.slice(Math.max(0, start - 30), start).trimEnd();
  const words = before.match(/\p{L}+/gu) ?? [];
  const label: string[] = [];
  for (const word of words.toReversed()) {
    if (ARTICLES.has(word)) continue;
    if (label.length === 2 || !isFunctionWord(word)) break;
    label.unshift(word);
  }
  return label.length > 0 ? label.join(' ') : words.every((word) => ARTICLES.has(word)) && start < 30 ? START : '';
}

/** Whether two clauses of the claim each combine parts of the same two clauses of the source, crosswise. */
function isCrossed(claim: readonly Mark[][], source: readonly Mark[][]): boolean {
  return claim.some((one, at) =>
    claim.slice(at + 1).some((other) => {
      const shared = source.map((clause) => ({
        one: one.filter((mark) => isAmong(mark, clause)),
        other: other.filter((mark) => isAmong(mark, clause)),
      }));
      return shared.some((left, index) =>
        shared
          .slice(index + 1)
          .some(
            (right) =>
              hasMore(left.one, right.one) &&
              hasMore(right.one, left.one) &&
              hasMore(left.other, right.other) &&
              hasMore(right.other, left.other),
          ),
      );
    }),
  );
}

function hasMore(marks: readonly Mark[], others: readonly Mark[]): boolean {
  return marks.some((mark) => !others.includes(mark));
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
