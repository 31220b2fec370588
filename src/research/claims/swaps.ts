import { isBoundElsewhere } from './bindings.ts';
import { isAmong, type Mark, marksOf, sameMark } from './marks.ts';
import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Parsed } from './text/parsed.ts';

/**
 * Whether a claim puts together what its source says of different things. No word list helps here, only places: what
 * stands in one clause belongs together, and so does what stands before and behind the same words.
 */
export function isSwapped(claim: Parsed, context: readonly Parsed[]): boolean {
  const marked = markedOf(claim);
  const own = clausesOf(marked.marks)
    .slice(0, MOST_CLAUSES)
    .map((marks) => marks.slice(0, MOST_OF_CLAUSE));
  const isInOne = context
    .map(markedOf)
    .some((each) => hasExchangedLabels(marked, each) || hasOtherSubject(marked, each));
  if (isInOne || (own.length > 1 && isCrossed(own, proseOf(context)))) return true;
  const all = own.flat();
  if (all.every(({ isPlain }) => isPlain)) return false;
  const source = marksOf(context).slice(0, MOST_MARKS);
  return own.some((clause) => belongsElsewhere(clause, all, source) || isBoundElsewhere(clause, all, source));
}

/** The clauses of what is no row of a table. */
function proseOf(context: readonly Parsed[]): Mark[][] {
  return clausesOf(marksOf(context.filter(({ text }) => !text.startsWith('|'))).slice(0, MOST_MARKS));
}

/** A sentence with its marks, and their labels where they are asked for. */
interface Marked {
  sentence: Parsed;
  marks: readonly Mark[];
  labels: () => readonly { mark: Mark; label: string }[];
}

const known = new WeakMap<Parsed, Marked>();

function markedOf(sentence: Parsed): Marked {
  const before = known.get(sentence);
  if (before) return before;
  const marks = marksOf([sentence]);
  let labels: { mark: Mark; label: string }[] | undefined;
  const marked = { sentence, marks, labels: () => (labels ??= labelled(marks.slice(0, MOST_OF_SENTENCE), sentence)) };
  known.set(sentence, marked);
  return marked;
}

/** Parts of a claim, and marks of what it is held against, that are looked at: more is a list. */
const MOST_CLAUSES = 8;
const MOST_OF_CLAUSE = 30;
const MOST_MARKS = 240;
const MOST_OF_SENTENCE = 40;

function clausesOf(marks: readonly Mark[]): Mark[][] {
  return [...Map.groupBy(marks, ({ clause }) => clause).values()];
}

/** `from 25 to 80` where the source says `from 80 to 25`; `A is older than B` where it says so of B and A. */
function hasExchangedLabels(claim: Marked, source: Marked): boolean {
  const own = claim.labels();
  const theirs = own.length < 2 ? [] : source.labels();
  if (theirs.length < 2) return false;
  return own.some(({ mark: a, label: labelOfA }, at) =>
    own.slice(at + 1).some(({ mark: b, label: labelOfB }) => {
      if (labelOfA === labelOfB || !isOneKind(a, b) || sameMark(a, b)) return false;
      const inA = theirs.filter(({ mark }) => sameMark(a, mark)).map(({ label }) => label);
      const inB = theirs.filter(({ mark }) => sameMark(b, mark)).map(({ label }) => label);
      return inA.includes(labelOfB) && inB.includes(labelOfA) && !inA.includes(labelOfA) && !inB.includes(labelOfB);
    }),
  );
}

/** Two figures are of one kind where only one of them has its unit: `from 25 to 80 minutes`. */
function isOneKind({ kind: a }: Mark, { kind: b }: Mark): boolean {
  return a.startsWith(b) || b.startsWith(a);
}

/** Marks with the function words before them, or the particle behind them where words are not parted. */
function labelled(marks: readonly Mark[], sentence: Parsed): { mark: Mark; label: string }[] {
  return marks.flatMap((mark) => {
    const label = labelOf(mark, sentence);
    return label === '' ? [] : [{ mark, label }];
  });
}

const START = '^';

function labelOf({ start, end }: Mark, { folded }: Parsed): string {
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

/**
 * `B buys A` where the source says that A buys B: each begins with what the other has behind the same word.
 */
function hasOtherSubject(
  { sentence: claim, marks: own }: Marked,
  { sentence: source, marks: theirs }: Marked,
): boolean {
  const [subject] = own;
  const [theirSubject] = theirs;
  if (!subject || !theirSubject || sameMark(subject, theirSubject)) return false;
  if (!beginsWith(subject, claim) || !beginsWith(theirSubject, source)) return false;
  if (!('word' in subject.of) || !('word' in theirSubject.of)) return false;
  const object = own.findIndex((mark, at) => at > 1 && sameMark(mark, theirSubject));
  const theirObject = theirs.findIndex((mark, at) => at > 1 && sameMark(subject, mark));
  if (object === -1 || theirObject === -1) return false;
  if (!isDirect(own[object], claim) || !isDirect(theirs[theirObject], source)) return false;
  return own.slice(1, object).some((mark) => mark.isPlain && isAmong(mark, theirs.slice(1, theirObject)));
}

/** Whether nothing but articles stands before a mark. */
function beginsWith({ start }: Mark, { folded }: Parsed): boolean {
  return (folded.slice(0, start).match(/\p{L}+/gu) ?? []).every((word) => ARTICLES.has(word));
}

/** Whether no preposition stands before a mark: `bought by A` turns the order round. */
function isDirect(mark: Mark | undefined, sentence: Parsed): boolean {
  if (!mark) return false;
  return CJK.test(sentence.folded) ? !TURNED.test(sentence.folded) : labelOf(mark, sentence) === '';
}
const TURNED = /[被由]|によって|により|から/;

/** Two clauses that each share one thing with the same two clauses of the source, crosswise. */
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
 * Whether another figure or name of the source is what the clause of a claim speaks of: more of what the clause says
 * stands beside the other one alone than beside its own alone. A name is held against others of its sentence, since
 * elsewhere a pronoun stands for it; a figure against those of other sentences.
 */
function belongsElsewhere(clause: readonly Mark[], claim: readonly Mark[], source: readonly Mark[]): boolean {
  return clause.some((mark) => {
    if (mark.isPlain || mark.kind === 'date') return false;
    const places = source.filter((other) => sameMark(mark, other));
    if (places.length === 0) return false;
    const beside = clause.filter((other) => other !== mark);
    return source.some(
      (other) =>
        other.kind === mark.kind &&
        !other.isPlain &&
        !claim.some((known) => sameMark(known, other) || isAlike(known, other)) &&
        places.every((place) => isBetter(other, place, { beside, source })),
    );
  });
}

function isBetter(
  other: Mark,
  place: Mark,
  { beside, source }: { beside: readonly Mark[]; source: readonly Mark[] },
): boolean {
  const isNear = place.sentence === other.sentence;
  // Figures of one sentence are told apart by `isBoundElsewhere`.
  if (place.clause === other.clause || isNear === 'figure' in place.of) return false;
  const part = isNear ? 'clause' : 'sentence';
  const theirs = beside.filter((mark) => isAmong(mark, within(source, part, other)));
  const own = beside.filter((mark) => isAmong(mark, within(source, part, place)));
  const onlyTheirs = theirs.filter((mark) => !own.includes(mark));
  const onlyOwn = own.filter((mark) => !theirs.includes(mark));
  const isOtherRow = within(source, part, place).some((mark) => mark.kind !== 'word' && theirs[0]?.kind === mark.kind);
  if (theirs.length < 2 && !isOtherRow) return false;
  return onlyTheirs.length >= (isNear ? 2 : 1) && worth(onlyTheirs) > worth(onlyOwn);
}

function within(source: readonly Mark[], part: 'clause' | 'sentence', of: Mark): Mark[] {
  return source.filter((mark) => mark[part] === of[part]);
}

function worth(marks: readonly Mark[]): number {
  return marks.reduce((sum, { isPlain }) => sum + (isPlain ? 1 : 1.5), 0);
}

/** Forms of one name that are not two names: `China`, `Chinese`. */
function isAlike({ of: a }: Mark, { of: b }: Mark): boolean {
  return 'word' in a && 'word' in b && a.word.text.slice(0, 4) === b.word.text.slice(0, 4);
}
