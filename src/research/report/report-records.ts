import { inSlices, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { collapseSpaces } from '../../base/text.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import { findingsByTurn } from '../context/findings.ts';
import { firstThatFit } from '../context/fitting.ts';
import { type EvidenceRecord, recordText } from '../run/evidence.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { OutlineSection } from '../run/transcript.ts';
import { keywords, mostTellingPart, rankTextInSteps, shortTitle } from '../text/key-facts.ts';

/** The records that a report is planned and written from. They are numbered from 1 in the order of the transcript. */

/** Longer records are cut, in UTF-16 code units. */
const LONGEST_LINE = 700;
/** The limit in the list that the outline is made from. */
const LONGEST_IN_OUTLINE = 240;
/** The share of a section's room that records may have; the rest is for passages of their sources. */
const RECORDS_SHARE = 0.6;
/** How many records are chosen for a section that names none. */
const MAX_FOUND = 24;

/** All records of a run, in the order of the transcript. */
export async function recordsOfRun(state: ResearchState, about: ReadonlySet<string>): Promise<EvidenceRecord[]> {
  const turns = await findingsByTurn(state, about);
  return turns.flatMap(({ notes, results }) => [...notes, ...results.flatMap(({ records }) => records)]);
}

/** The most relevant records that fit into `tokens`, as numbered lines. */
export function outlineLines(records: readonly EvidenceRecord[], tokens: number): string {
  const repeated = repeatedIn(records);
  const best = [...records.entries()]
    .filter(([, record]) => !repeated.has(record))
    .sort(([, a], [, b]) => b.weight - a.weight);
  const lines = best.values().map(([at, record]) => {
    const source = record.source === null ? '' : `[${record.source}] `;
    return `${at + 1}. ${source}${lineOf(record, LONGEST_IN_OUTLINE)}`;
  });
  const chosen = firstThatFit(lines, tokens).map((line, index) => ({ at: best[index]?.[0] ?? 0, line }));
  return chosen
    .sort((a, b) => a.at - b.at)
    .map(({ line }) => line)
    .join('\n');
}

/** The records that say what an earlier one says of the same source: lanes and attempts often read the same page. */
function repeatedIn(records: readonly EvidenceRecord[]): Set<EvidenceRecord> {
  const first = new Map(records.toReversed().map((record) => [`${record.source} ${recordText(record)}`, record]));
  return new Set(records).difference(new Set(first.values()));
}

function lineOf(record: EvidenceRecord, length: number): string {
  const text = collapseSpaces(recordText(record));
  return text.length <= length ? text : mostTellingPart(text, { maxLength: length });
}

/** The evidence that sections are written from. */
interface ReportEvidence {
  records: readonly EvidenceRecord[];
  outline: readonly OutlineSection[];
  claims: ClaimChecker;
  question: string;
  sources: ResearchState['sources'];
}

/** The records of a section and passages of their sources, grouped by source, within `tokens`. */
export async function sectionRecords(report: ReportEvidence, index: number, tokens: number): Promise<string> {
  const section = report.outline[index];
  if (!section) return '';
  const about = keywords(`${section.heading} ${section.aim} ${report.question}`);
  const chosen = fitRecords(await recordsFor(section, about, report), tokens * RECORDS_SHARE);
  const bySource = Map.groupBy(chosen, (record) => record.source);
  const sources = [...bySource.keys()].flatMap((id) => (id === null ? [] : (report.sources.byId(id) ?? [])));
  const used = chosen.reduce((sum, record) => sum + estimateTokens(lineOf(record, LONGEST_LINE)), 0);
  const passages = await passagesOf(sources, {
    claims: report.claims,
    about,
    length: ((tokens - used) * CHARACTERS) / Math.max(1, sources.length),
    known: chosen.map(recordText).join('\n'),
  });
  const blocks = [...bySource].map(([id, group]) => {
    const source = id === null ? undefined : report.sources.byId(id);
    const head = source ? `[${source.id}] ${titleOf(source)}` : 'Noted without a source:';
    const lines = group.map((record) => `- ${lineOf(record, LONGEST_LINE)}${earlierMention(record, index, report)}`);
    const passage = source && passages.get(source.id);
    return [head, ...lines, ...(passage ? [`  From its text: ${passage}`] : [])].join('\n');
  });
  return blocks.join('\n\n');
}

async function recordsFor(
  section: OutlineSection,
  about: ReadonlySet<string>,
  { records }: ReportEvidence,
): Promise<readonly EvidenceRecord[]> {
  const named = section.records.flatMap((number) => records[number - 1] ?? []);
  if (named.length > 0) return named;
  const repeated = repeatedIn(records);
  const found: { record: EvidenceRecord; shared: number }[] = [];
  await inSlices(records, (record) => {
    const shared = repeated.has(record) ? 0 : keywords(recordText(record)).intersection(about).size;
    if (shared > 1) found.push({ record, shared });
  });
  return found
    .sort((a, b) => b.shared - a.shared)
    .slice(0, MAX_FOUND)
    .map(({ record }) => record);
}

/** The most relevant records that fit, in their original order. */
function fitRecords(records: readonly EvidenceRecord[], tokens: number): EvidenceRecord[] {
  const best = records.toSorted((a, b) => b.weight - a.weight);
  const lines = best.values().map((record) => lineOf(record, LONGEST_LINE));
  const chosen = new Set(best.slice(0, Math.max(1, firstThatFit(lines, tokens).length)));
  return records.filter((record) => chosen.has(record));
}

/** A hint for the model that an earlier section has the record already, or ''. */
function earlierMention(record: EvidenceRecord, index: number, { records, outline }: ReportEvidence): string {
  const number = records.indexOf(record) + 1;
  const at = outline.slice(0, index).findIndex((section) => section.records.includes(number));
  return at === -1 ? '' : ` (told in section ${at + 1})`;
}

/** The most relevant sentences of each source that are in no record of the section. */
async function passagesOf(
  sources: readonly Source[],
  options: { claims: ClaimChecker; about: ReadonlySet<string>; length: number; known: string },
): Promise<Map<number, string>> {
  const { claims, about, length, known } = options;
  const passages = new Map<number, string>();
  if (length < MIN_PASSAGE) return passages;
  for (const [source, { text }] of await claims.read(sources)) {
    const { sentences, ranking } = await rankTextInSteps(text, about);
    // The words of a search result are often on the page, too.
    const chosen = new Map<string, number>();
    let left = length;
    for (const index of ranking) {
      const sentence = sentences[index]?.trim() ?? '';
      if (known.includes(sentence) || chosen.has(sentence)) continue;
      left -= sentence.length;
      if (left < 0) break;
      chosen.set(sentence, index);
    }
    const inOrder = [...chosen].sort(([, a], [, b]) => a - b).map(([sentence]) => sentence);
    if (inOrder.length > 0) passages.set(source.id, inOrder.join(' … '));
    await yieldToEventLoop();
  }
  return passages;
}

/** The average number of UTF-16 code units per token. */
const CHARACTERS = 3.5;
/** Shorter passages add nothing to the records, in UTF-16 code units. */
const MIN_PASSAGE = 160;
function titleOf({ title, url, published }: Source): string {
  return `${shortTitle(title || url, LONGEST_LINE)}${published ? ` (${published})` : ''}`;
}
