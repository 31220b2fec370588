import { inSlices } from '../../base/load/event-loop.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import { type EvidenceRecord, recordText } from '../run/evidence.ts';
import { keywords, mostTellingPart, pickFacts, type RankedText, rankText, shortTitle } from '../text/key-facts.ts';
import { disagreements, foldDuplicates, type Repeat, uncoveredBy } from './compare-records.ts';
import type { FoundResult, TurnFindings } from './findings.ts';
import { firstThatFit } from './fitting.ts';

/**
 * Writes the evidence of turns as a text of limited size: one block of the findings in a request. Every turn gets its
 * share: first the model's own notes, then what results add to them.
 */

export interface BlockOptions {
  /** The limit of the block, by the gateway's estimate. */
  tokens: number;
  /** The turns of earlier blocks, whose findings are not repeated. */
  earlier: readonly TurnFindings[];
  /** The keywords of the question. */
  about: ReadonlySet<string>;
  titleOf(source: number): string;
}

/** The share of a block that notes may have if results add to them. */
const NOTES_SHARE = 0.5;
/** Lines are not made shorter than this, in tokens; instead some are left out. */
export const MIN_LINE_TOKENS = 28;
/** The limit of one result, and of one that the model's notes cover, in UTF-16 code units. */
const MAX_LENGTH = 2400;
const MAX_IF_NOTED = 600;
/** How many tokens a block may exceed its limit by before lines are left out, at the cost of the next block. */
const SLACK = 40;
/** The share of a block for sources that disagree. */
const DISAGREEMENT_SHARE = 0.15;

/** The tokens of a block that has the best line of each turn and nothing else. */
export async function minTokensOf(found: readonly TurnFindings[], about: ReadonlySet<string>): Promise<number> {
  const notes = found.flatMap((turn) => turn.notes);
  const results = found.flatMap((turn) => turn.results);
  const best = found.flatMap((turn) => turn.notes.toSorted((a, b) => b.weight - a.weight).slice(0, 1));
  const facts = await factLines(await uncoveredBy(results, notes), about);
  return cost(best.map((note) => `+ ${noteText(note, MIN_NOTE)}`)) + cost(facts);
}

/** The block; '' if nothing was found. If not everything fits, lines are left out evenly, but never the last. */
export async function ledgerBlock(found: readonly TurnFindings[], options: BlockOptions): Promise<string> {
  const { tokens, titleOf } = options;
  const { turns, repeats } = await foldDuplicates(found, options.earlier);
  const disagreeing = firstThatFit(await disagreements(turns, options), tokens * DISAGREEMENT_SHARE);
  let left = tokens - cost(disagreeing);
  const results = turns.flatMap(({ results: each }) => each);
  const notes = turns.flatMap((each) => each.notes);
  const uncovered = await uncoveredBy(results, notes);
  const reserved = Math.min((1 - NOTES_SHARE) * left, cost(await factLines(uncovered, options.about)));
  const noteLines = chooseNotes(turns, { tokens: left - reserved, maxTokens: left });
  left -= cost(noteLines.values());
  const lines = new Map<TurnFindings | FoundResult, string>(noteLines);
  const covered = results.filter((result) => !uncovered.includes(result));
  for (const [list, maxLength] of [
    [uncovered, MAX_LENGTH],
    [covered, MAX_IF_NOTED],
  ] as const) {
    const fitted = await fitResults(list, { tokens: left, maxLength, titleOf, about: options.about });
    left -= cost(fitted.values());
    for (const [result, line] of fitted) lines.set(result, line);
  }
  const ordered = turns.flatMap((turn) => [turn, ...turn.results].map((each) => lines.get(each)));
  const rest = firstThatFit(repeats.map(repeatLine), left);
  return [...ordered, ...disagreeing, ...rest].filter((line) => line !== undefined).join('\n');
}

function cost(lines: Iterable<string>): number {
  let tokens = 0;
  for (const line of lines) tokens += estimateTokens(line) + 0.5;
  return tokens;
}

function repeatLine({ source, as }: Repeat): string {
  return `- [${source}] says the same as [${as}].`;
}

/** Notes are not cut below this length, in UTF-16 code units. */
const MIN_NOTE = 100;

/** The best note of every turn, then the second best of each, and so on: as many as fit. */
function chooseNotes(
  turns: readonly TurnFindings[],
  { tokens, maxTokens }: { tokens: number; maxTokens: number },
): Map<TurnFindings, string> {
  const ranked = turns.map((turn) => ({ turn, notes: turn.notes.toSorted((a, b) => b.weight - a.weight) }));
  const chosen = new Map<TurnFindings, Set<EvidenceRecord>>();
  const best = ranked.filter(({ notes }) => notes.length > 0);
  const firsts = best.flatMap(({ notes: [note] }) => (note ? [note] : []));
  const length = lengthFor(firsts, tokens);
  const needed = firsts.reduce((sum, note) => sum + estimateTokens(noteText(note, MIN_NOTE)) + 2, 0);
  // Notes have priority: they may exceed their share before any of them is left out.
  const keep = needed <= maxTokens + SLACK ? best : spread(best, Math.ceil((best.length * maxTokens) / needed));
  const textOf = (note: EvidenceRecord) => noteText(note, length ?? MIN_NOTE);
  let left = tokens;
  for (let rank = 0; keep.some(({ notes }) => notes.length > rank); rank++) {
    const round = keep.flatMap(({ turn, notes }) => {
      const note = notes[rank];
      return note ? [{ turn, note, tokens: estimateTokens(textOf(note)) + 2 }] : [];
    });
    const sum = round.reduce((total, each) => total + each.tokens, 0);
    if (sum > left && rank > 0) break;
    for (const { turn, note } of round) chosen.set(turn, (chosen.get(turn) ?? new Set()).add(note));
    left -= sum;
  }
  return new Map(
    [...chosen].map(([turn, notes]) => {
      const inOrder = turn.notes.filter((note) => notes.has(note));
      return [turn, inOrder.map((note) => `+ ${textOf(note)}`).join('\n')];
    }),
  );
}

/** The length at which all notes fit, in UTF-16 code units; undefined if they do not. */
function lengthFor(notes: readonly EvidenceRecord[], tokens: number): number | undefined {
  for (let length = 400; length >= MIN_NOTE; length = Math.floor(length * 0.8)) {
    const sum = notes.reduce((total, note) => total + estimateTokens(noteText(note, length)) + 2, 0);
    if (sum <= tokens) return length;
  }
  return undefined;
}

function noteText(note: EvidenceRecord, length: number): string {
  const text = recordText(note);
  return text.length <= length ? text : mostTellingPart(text, { maxLength: length });
}

const NOTHING: ReadonlySet<string> = new Set();

/** A line of this length, in UTF-16 code units, may exceed its share rather than be cut in the middle of its fact. */
const SHORT = 140;

/** Results as lines of the same length, as long as the tokens allow. */
async function fitResults(
  results: readonly FoundResult[],
  options: { tokens: number; maxLength: number; titleOf(source: number): string; about: ReadonlySet<string> },
): Promise<Map<FoundResult, string>> {
  const { tokens, maxLength, titleOf, about } = options;
  if (results.length === 0 || tokens < MIN_LINE_TOKENS / 2) return new Map();
  const minTokens = MIN_LINE_TOKENS * results.length;
  const ranked = results.map((result) => rank(result));
  let length = Math.min(maxLength, (Math.max(tokens, minTokens) * 4) / results.length);
  let lines: string[] = [];
  for (let round = 0; round < ADAPTATIONS; round++) {
    lines = [];
    await inSlices(ranked, (result) => void lines.push(`- ${lineOf(result, { length, titleOf })}`));
    const sum = cost(lines);
    const maxTokens = length <= SHORT ? tokens + Math.min(SLACK, tokens / 3) : tokens;
    if (sum <= maxTokens) break;
    if (sum <= minTokens || round === ADAPTATIONS - 1) {
      // All facts without context are better than some of them with it.
      return thinOut(results, await factLines(results, about), maxTokens);
    }
    length = Math.min(length / 1.2, (length * Math.max(tokens, minTokens)) / sum);
  }
  return new Map(results.map((result, index) => [result, lines[index] ?? '']));
}

/** The best sentence of a result, without a title: the minimum that has to be retained. */
function factLine({ call, records }: FoundResult, about: ReadonlySet<string>): string {
  const best = records.reduce((top, record) => (record.weight > top.weight ? record : top));
  const wanted = about.union(keywords(call.arguments));
  const { sentences, ranking, plain } = rankText(recordText(best), wanted);
  const fact = sentences[ranking[0] ?? 0] ?? plain;
  const text = fact.length <= SHORT ? fact : mostTellingPart(fact, { about: wanted, maxLength: SHORT });
  return `- ${best.source === null ? '' : `[${best.source}] `}${text}`;
}

async function factLines(results: readonly FoundResult[], about: ReadonlySet<string>): Promise<string[]> {
  const lines: string[] = [];
  await inSlices(results, (result) => void lines.push(factLine(result, about)), { stepsPerClockRead: 1 });
  return lines;
}

/** How many times the length is adapted to what the lines turned out to cost. */
const ADAPTATIONS = 6;

/** As many lines as fit, evenly spread, always including the last. */
function thinOut(results: readonly FoundResult[], lines: readonly string[], tokens: number): Map<FoundResult, string> {
  const all = results.map((result, index) => [result, lines[index] ?? ''] as const);
  for (let keep = all.length; keep > 0; keep = Math.min(keep - 1, Math.floor(keep * 0.98))) {
    const chosen = spread(all, keep);
    if (cost(chosen.map(([, line]) => line)) <= tokens) return new Map(chosen);
  }
  return new Map();
}

/** Keeps `keep` elements of a list, evenly spread, including the last. */
function spread<T>(list: readonly T[], keep: number): T[] {
  if (keep >= list.length) return [...list];
  return list.filter((_, i) => Math.floor(((i + 1) * keep) / list.length) > Math.floor((i * keep) / list.length));
}

/** A result with ranked sentences, grouped by source. */
interface Ranked {
  name: string;
  groups: { source: number | null; text: RankedText; weight: number }[];
}

function rank({ call, records }: FoundResult): Ranked {
  const bySource = Map.groupBy(records, (record) => record.source);
  const groups = [...bySource].map(([source, group]) => {
    const sentences = group.map(recordText);
    const ranking = [...sentences.keys()].sort((a, b) => (group[b]?.weight ?? 0) - (group[a]?.weight ?? 0));
    const text: RankedText = { plain: sentences.join(' '), sentences, ranking, about: NOTHING };
    return { source, text, weight: Math.max(...group.map((record) => record.weight)) };
  });
  return { name: call.name, groups };
}

/** A source needs this much room, in UTF-16 code units; otherwise it is left out. */
const MIN_GROUP = 90;

/** A result with one line per source; the most relevant sources if there is no room for all. */
function lineOf({ name, groups }: Ranked, options: { length: number; titleOf(source: number): string }): string {
  const { length, titleOf } = options;
  const fitting = Math.max(1, Math.floor(length / MIN_GROUP));
  const chosen = groups.toSorted((a, b) => b.weight - a.weight).slice(0, fitting);
  const each = Math.floor(length / chosen.length);
  return groups
    .filter((group) => chosen.includes(group))
    .map(({ source, text }) => {
      const title = shortTitle(source === null ? name : titleOf(source), each);
      const number = source === null ? '' : `[${source}] `;
      const head = text.plain.toLowerCase().includes(title.toLowerCase()) ? number : `${number}${title}: `;
      return head + pickFacts(text, Math.max(40, each - head.length));
    })
    .join('\n');
}
