import { inSlices } from '../../base/load/event-loop.ts';
import { type EvidenceRecord, recordText } from '../run/evidence.ts';
import type { FoundResult, TurnFindings } from './findings.ts';
import { factWords } from './model-notes.ts';

/** Compares records: folds duplicates, and finds sources that disagree. Thousands of them are compared in slices. */

/** A source that repeats what another one said before (`as`). */
export interface Repeat {
  source: number;
  as: number;
}

/** Removes records that repeat earlier ones, and names the sources that only repeat others. */
export async function foldDuplicates(
  found: readonly TurnFindings[],
  earlier: readonly TurnFindings[],
): Promise<{ turns: TurnFindings[]; repeats: Repeat[] }> {
  await inSlices([...recordsIn(earlier), ...recordsIn(found)], shapeOf);
  const seen = new Map<string, EvidenceRecord>();
  for (const record of recordsIn(earlier)) remember(seen, record);
  const repeats = new Map<string, Repeat>();
  const isNew = (record: EvidenceRecord) => {
    const before = remember(seen, record);
    if (!before) return true;
    const { source } = record;
    if (source !== null && before.source !== null && source !== before.source) {
      repeats.set(`${source}`, { source, as: before.source });
    }
    // A note of the model is worth more than the same words in a result.
    return record.by === 'model' && before.by !== 'model';
  };
  const turns = found.map(({ turn, notes, results }): TurnFindings => {
    const newNotes = notes.filter(isNew);
    const fresh = results.map(({ call, records }): FoundResult => ({ call, records: records.filter(isNew) }));
    return { turn, notes: newNotes, results: fresh.filter(({ records }) => records.length > 0) };
  });
  const withNews = new Set(recordsIn(turns).map(({ source }) => source));
  return { turns, repeats: [...repeats.values()].filter(({ source }) => !withNews.has(source)) };
}

function recordsIn(turns: readonly TurnFindings[]): EvidenceRecord[] {
  return turns.flatMap(({ notes, results }) => [...notes, ...results.flatMap(({ records }) => records)]);
}

/** Remembers a record, or returns the earlier one that says the same. */
function remember(seen: Map<string, EvidenceRecord>, record: EvidenceRecord): EvidenceRecord | undefined {
  const { key } = shapeOf(record);
  if (key === '') return undefined;
  const before = seen.get(key);
  if (!before) seen.set(key, record);
  return before;
}

interface Shape {
  words: ReadonlySet<string>;
  figures: readonly string[];
  /** The words, sorted. */
  subject: string;
  /** Subject and figures; '' if a record has too few words to be compared. */
  key: string;
}

const shapes = new WeakMap<EvidenceRecord, Shape>();

function shapeOf(record: EvidenceRecord): Shape {
  const known = shapes.get(record);
  if (known) return known;
  const { words, figures } = factWords(recordText(record));
  const subject = [...words].sort().join(' ');
  const shape = { words, figures, subject, key: words.size < 2 ? '' : `${subject}|${figures.join(' ')}` };
  shapes.set(record, shape);
  return shape;
}

/** A note on a result comes in the same turn, within this many turns, or it cites the source. */
const SOON = 2;

/** The results that the model's notes do not cover. */
export async function uncoveredBy(
  results: readonly FoundResult[],
  notes: readonly EvidenceRecord[],
): Promise<FoundResult[]> {
  const uncovered: FoundResult[] = [];
  const add = (result: FoundResult) => void (coveredBy(result, notes) || uncovered.push(result));
  await inSlices(results, add, { stepsPerClockRead: 1 });
  return uncovered;
}

/** Whether the model's notes cover a result: its figures, or most of the words of its best sentence. */
function coveredBy({ records }: FoundResult, notes: readonly EvidenceRecord[]): boolean {
  const best = records.reduce<EvidenceRecord | undefined>(
    (top, record) => (!top || record.weight > top.weight ? record : top),
    undefined,
  );
  if (!best) return false;
  const fact = shapeOf(best);
  return notes.some((note) => {
    const near = note.turn >= best.turn && note.turn <= best.turn + SOON;
    if (!near && (note.source === null || note.source !== best.source)) return false;
    const { words, figures } = shapeOf(note);
    const shared = fact.words.intersection(words).size;
    if (shared === 0) return false;
    const sameFigures = fact.figures.length > 0 && fact.figures.every((figure) => figures.includes(figure));
    return sameFigures ? shared >= 2 : shared >= Math.max(3, fact.words.size * 0.7) && fact.figures.length === 0;
  });
}

const MAX_PAIRS = 8;

/** Lines that show sources side by side that say the same except for one figure. */
export async function disagreements(
  turns: readonly TurnFindings[],
  { earlier, about }: { earlier: readonly TurnFindings[]; about: ReadonlySet<string> },
): Promise<string[]> {
  const bySubject = new Map<string, EvidenceRecord[]>();
  const lines = new Map<string, string>();
  const fresh = new Set(recordsIn(turns));
  await inSlices([...recordsIn(earlier), ...fresh], (record) => {
    const { words, figures, subject } = shapeOf(record);
    if (words.size < 2 || figures.length === 0 || words.isDisjointFrom(about)) return;
    const others = bySubject.get(subject) ?? [];
    const other = fresh.has(record) ? others.find((each) => differ(each, record)) : undefined;
    if (other && lines.size < MAX_PAIRS) lines.set(`${subject} ${figures.join()}`, sideBySide(other, record));
    if (others.length < MAX_PAIRS) bySubject.set(subject, [...others, record]);
  });
  return [...lines.values()];
}

/** Whether two records of different sources have the same number of figures, and exactly one differs. */
function differ(a: EvidenceRecord, b: EvidenceRecord): boolean {
  if (a.source === b.source) return false;
  const [left, right] = [shapeOf(a).figures, shapeOf(b).figures];
  if (left.length !== right.length) return false;
  return left.filter((figure, index) => figure !== right[index]).length === 1;
}

function sideBySide(a: EvidenceRecord, b: EvidenceRecord): string {
  const quote = (record: EvidenceRecord) =>
    `${record.source === null ? '' : `[${record.source}] `}${recordText(record).slice(0, 160)}`;
  return `- Sources disagree: ${quote(a)} — ${quote(b)}`;
}
