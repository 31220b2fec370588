import { datesIn, type FoundDate } from './dates.ts';
import { type Figure, figuresIn, precisionAt } from './figures.ts';
import { CJK, foldText } from './fold.ts';
import { type Language, languageOf } from './language.ts';
import { Places } from './places.ts';
import { unitAt } from './units.ts';
import { type Word, wordsIn } from './words.ts';

/** A sentence and the parts of it that can be compared. */
export interface Sentence {
  text: string;
  folded: string;
  /** By its function words. */
  language: Language | undefined;
  words: readonly Word[];
  figures: readonly Figure[];
  dates: readonly FoundDate[];
  clauses: readonly Clause[];
}

/** A clause of a sentence. Ranges refer to the sentence. */
export interface Clause extends Pick<Sentence, 'text' | 'words' | 'figures' | 'dates'> {
  start: number;
  end: number;
}

/** Parses a sentence; ranges refer to `text`. */
export function parseSentence(text: string, folded = foldText(text)): Sentence {
  const dates = datesIn(folded, text).filter((date) => !isAmount(date, folded));
  const figures = figuresIn(folded, dates);
  const places = new Places(text, [...dates, ...figures]);
  const words = wordsIn(folded, text).filter(({ start }) => !places.has(start));
  let language: { of: Language | undefined } | undefined;
  let clauses: Clause[] | undefined;
  return {
    text,
    folded,
    // Lazy, as clauses are, because most sentences of a source are only compared by their words.
    get language() {
      language ??= { of: languageOf(folded) };
      return language.of;
    },
    words,
    figures: figures.slice(0, MAX_FIGURES),
    dates,
    get clauses() {
      clauses ??= clausesOf({ text, folded, words, figures, dates }, places);
      return clauses;
    },
  };
}

/** Whether a year is really an amount, with a unit or an approximation: `some 1400 animals`, `1956公里`. */
function isAmount({ start, end, month, decade, quarter, half }: FoundDate, folded: string): boolean {
  if ((month ?? decade ?? quarter ?? half) !== undefined) return false;
  const unit = unitAt('', folded.slice(end, end + LONGEST_UNIT));
  // Short units may be other words: `in 1974 in Rome`.
  const isCounted = unit !== undefined && (unit.length > SHORT_UNIT || CJK.test(folded[end] ?? ''));
  return isCounted || precisionAt(folded, { start, end }) !== 'exact';
}
/** How many figures of a sentence are compared; more are a table. */
const MAX_FIGURES = 80;
const LONGEST_UNIT = 32;
const SHORT_UNIT = 3;

const BOUNDARY =
  /[;:,，；、。—–]\s*|\s(?:while|whereas|but|and|although|wahrend|und|aber|sondern|obwohl|tandis que|alors que|et|mais|mientras que|mientras|pero|y|mentre|ma|e|а|но|и|while)\s|而(?=[^且])|但/g;

/** A sentence with more clauses is a list. */
const MAX_CLAUSES = 15;

/** The parts between commas and conjunctions, if each has something to compare. */
function clausesOf(
  { text, folded, words, figures, dates }: Omit<Sentence, 'language' | 'clauses'>,
  places: Places,
): Clause[] {
  const clauses: Clause[] = [];
  const within = (start: number, end: number) => {
    const inside = (at: { start: number }) => at.start >= start && at.start < end;
    return {
      start,
      end,
      text: folded.slice(start, end),
      words: words.filter(inside),
      figures: figures.filter(inside),
      dates: dates.filter(inside),
    };
  };
  let from = 0;
  for (const { 0: boundary, index } of folded.matchAll(BOUNDARY)) {
    if (places.has(index) || /^\s[èà]/i.test(text.slice(index, index + 2))) continue;
    const clause = within(from, index);
    const facts = clause.figures.length + clause.dates.length;
    if (clause.words.length + facts < 2 || clause.words.length === 0) continue;
    clauses.push(clause);
    from = index + boundary.length;
    if (clauses.length === MAX_CLAUSES) break;
  }
  const last = within(from, folded.length);
  if (last.words.length > 0 || clauses.length === 0) clauses.push(last);
  else {
    const before = clauses.pop();
    clauses.push(within(before?.start ?? 0, folded.length));
  }
  return clauses;
}
