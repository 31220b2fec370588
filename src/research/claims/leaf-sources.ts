import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import { citation } from '../answer/citation.ts';
import type { Source } from '../run/sources.ts';
import type { ClaimChecker } from './claim-checker.ts';
import { type JsonLeaf, leavesOf } from './json-leaves.ts';
import { LONGEST_PASSAGE } from './passages.ts';
import { LONGEST_CLAIM } from './sentences.ts';
import { carries } from './support.ts';
import { isDatedElsewhere } from './swaps.ts';
import { sameDate } from './text/dates.ts';
import { type Parsed, parseSentence } from './text/parsed.ts';
import { sameFigure } from './text/same-figure.ts';
import type { SourceText } from './text/source-text.ts';
import { sameWord } from './text/words.ts';

/** Longer strings are sentences, in UTF-16 code units: what they say is held against a source, not how it is said. */
const LONGEST_VALUE = 60;
/** Shorter strings stand everywhere. */
const MIN_LETTERS = 3;
/** Values of one answer that are looked for: each costs a look into every source. */
const MAX_LOOKED_UP = 2000;
/** Places of a value in one source that are looked at. */
const MAX_PLACES = 40;

interface FoundValue {
  support: 'quoted' | 'partial';
  start: number;
  end: number;
  /** How much stands around it of what the value is of. */
  worth: number;
}

/**
 * The citations of a structured answer, in the order of its text: those of its markers with the value that they stand
 * in, and one for each other value that a source of the run carries (docs/research.md, "Claims").
 */
export async function citeLeaves(
  json: string,
  { marked, claims, sources }: { marked: readonly UrlCitation[]; claims: ClaimChecker; sources: readonly Source[] },
): Promise<UrlCitation[]> {
  const citations: UrlCitation[] = [];
  const texts = await claims.read(sources);
  const inOrder = marked.toSorted((a, b) => a.start_index - b.start_index);
  let next = 0;
  let looked = 0;
  for (const leaf of leavesOf(json)) {
    const own: UrlCitation[] = [];
    for (let mark = inOrder[next]; mark && mark.start_index < leaf.end; mark = inOrder[++next]) {
      if (mark.start_index >= leaf.start) own.push(mark);
    }
    citations.push(...own.map((each) => ({ ...each, path: leaf.path })));
    if (own.length > 0 || leaf.kind === 'other' || ++looked > MAX_LOOKED_UP) continue;
    const best = await bestOf(leaf, texts);
    if (best) citations.push(best);
  }
  return citations;
}

async function bestOf(leaf: JsonLeaf, texts: readonly [Source, SourceText][]): Promise<UrlCitation | undefined> {
  const value = parseSentence(leaf.text.slice(0, LONGEST_CLAIM));
  const about = parseSentence(leaf.about.join(' ').slice(0, LONGEST_CLAIM));
  const all: { source: Source; text: SourceText; found: FoundValue }[] = [];
  const look = ([source, text]: readonly [Source, SourceText]) => {
    const found =
      leaf.text.length > LONGEST_VALUE ? findStatement(value, text) : findValue({ leaf, value, about, text });
    if (found) all.push({ source, text, found });
  };
  await inSlices(texts, look, { stepsALook: 1 });
  const [first, ...others] = all;
  if (!first) return undefined;
  const { source, text, found } = others.reduce(
    (best, each) => (each.found.worth > best.found.worth ? each : best),
    first,
  );
  const range = { start_index: leaf.start, end_index: leaf.end };
  const cited_text = text.text.slice(found.start, found.end).trim();
  return { ...citation(range, { source, index: null }, { cited_text, support: found.support }), path: leaf.path };
}

function findStatement(value: Parsed, text: SourceText): FoundValue | undefined {
  const { support, passage } = carries(value, text);
  if (support === 'none' || !passage) return undefined;
  return { support, ...passage, worth: support === 'quoted' ? 2 : 1 };
}

/** A value of a JSON answer, what it is of, and the text that may hold it. */
interface Sought {
  leaf: JsonLeaf;
  value: Parsed;
  about: Parsed;
  text: SourceText;
}

/** The sentence that holds a value and most of what it is of: as it is written, or else a measure written otherwise. */
function findValue(sought: Sought): FoundValue | undefined {
  const { leaf, value, text } = sought;
  const isShort = leaf.text.length < MIN_LETTERS || value.words.length === 0;
  const written = leaf.kind === 'string' ? placesOf(value.folded, text, MAX_PLACES) : [];
  const found = bestAmong(written, sought, { needsMore: isShort });
  if (found || !isMeasure(leaf, value)) return found;
  // However a number is written, its first digit is in it, and its year in a date.
  const year = leaf.kind === 'string' ? value.dates[0]?.year : undefined;
  const telling = year === undefined ? /\d/.exec(value.folded)?.[0] : String(year);
  return bestAmong(placesOf(telling ?? '', text), sought, { needsMore: true });
}

/** `needsMore`: the value alone is not enough, something of what it is of has to stand there too. */
function bestAmong(
  places: Iterable<number>,
  { leaf, value, about, text }: Sought,
  { needsMore }: { needsMore: boolean },
): FoundValue | undefined {
  let best: FoundValue | undefined;
  for (const index of places) {
    const sentence = text.sentence(index);
    if (!holds(sentence, leaf, value)) continue;
    if (isDatedElsewhere({ figures: value.figures, dates: about.dates }, [sentence])) continue;
    const before = index > 0 ? text.sentence(index - 1) : undefined;
    const words = [...sentence.words, ...(before?.words ?? []), ...text.parsedTitle.words];
    const worth = about.words.filter((word) => words.some((other) => sameWord(other.text, word.text))).length;
    if (worth === 0 && needsMore) continue;
    if (!best || worth > best.worth) {
      const [start, end] = [text.start(index), text.end(index)];
      best = { support: 'quoted', start, end: Math.min(end, start + LONGEST_PASSAGE), worth };
    }
  }
  return best;
}

/** The sentences in which a term stands, each once; no more than `most`. */
function* placesOf(term: string, text: SourceText, most = Number.POSITIVE_INFINITY): Generator<number> {
  if (term === '') return;
  let seen = 0;
  for (let at = text.folded.indexOf(term); at !== -1 && seen < most; at = text.folded.indexOf(term, at)) {
    const index = text.indexAt(at);
    yield index;
    seen++;
    at = Math.max(at + 1, text.end(index));
  }
}

/** Whether a value is a number, with its unit or alone, or a date: sources write it in other ways. */
function isMeasure({ kind }: JsonLeaf, { figures, dates, words }: Parsed): boolean {
  return kind === 'number' || (words.length === 0 && figures.length + dates.length > 0);
}

/** Whether a sentence has the dates and figures of a text that is nothing else. */
function measures(sentence: Parsed, leaf: JsonLeaf, value: Parsed): boolean {
  return (
    isMeasure(leaf, value) &&
    value.dates.every((date) => sentence.dates.some((other) => sameDate(date, other))) &&
    value.figures.every((figure) => sentence.figures.some((other) => sameFigure(figure, other)))
  );
}

function holds(sentence: Parsed, leaf: JsonLeaf, value: Parsed): boolean {
  if (leaf.kind === 'string') return sentence.folded.includes(value.folded) || measures(sentence, leaf, value);
  const said = Math.abs(Number(leaf.text));
  const figure = value.figures[0] ?? {
    start: 0,
    end: 0,
    values: [said],
    steps: [1],
    isRounded: false,
    unit: undefined,
    precision: () => 'exact' as const,
  };
  const exact = { ...figure, values: [said], unit: undefined };
  return (
    sentence.figures.some((other) => sameFigure(exact, { ...other, unit: undefined })) ||
    sentence.dates.some(({ year }) => year === said)
  );
}
