import { inSlices } from '../../base/load/event-loop.ts';
import { ClaimChecker, type Support } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { JoinedEntry, LanesEntry } from '../run/transcript.ts';
import { splitSentences } from '../text/key-facts.ts';

/** Joins what the lanes found, so that the research can go on with it. */

/** How many sentences of an attempt's conclusion are quoted, and how long they may be, in UTF-16 code units. */
const MAX_SENTENCES = 5;
const MAX_SENTENCE_LENGTH = 400;
/** How many sources of an attempt its sentences are checked against. */
const MAX_SOURCES = 40;

/** The entry that ends the lanes. */
export async function joinLanes(
  run: ResearchRun,
  { lanes, states, context }: { lanes: LanesEntry; states: readonly ResearchState[]; context: Context },
): Promise<JoinedEntry> {
  const { state } = run;
  const done = states.flatMap((lane, index) => (lane.isResearchDone() && !lane.forcedEnd ? [index + 1] : []));
  const limits = states.flatMap(({ forcedEnd }) =>
    forcedEnd && forcedEnd.reason !== 'stuck' ? [forcedEnd.reason] : [],
  );
  const text = lanes.kind === 'parts' ? partsText(run, { lanes, states }) : await attemptsText(run, states);
  return {
    t: 'joined',
    findings: await context.findings(),
    from: state.turns,
    text,
    done,
    ...(limits[0] ? { cut: limits[0] } : {}),
  };
}

function partsText(
  { prompts, fence }: ResearchRun,
  { lanes, states }: { lanes: LanesEntry; states: readonly ResearchState[] },
): string {
  const failed = states.flatMap(({ forcedEnd }, index) =>
    forcedEnd ? (lanes.tasks[index]?.map((task) => `- ${task}: ${forcedEnd.why}`) ?? []) : [],
  );
  const early = failed.length === 0 ? '' : ` These parts ended early:\n${fence.around(failed.join('\n'))}\n`;
  return prompts.joined({ count: String(states.length), failed: early });
}

async function attemptsText(run: ResearchRun, states: readonly ResearchState[]): Promise<string> {
  const claims = await ClaimChecker.of(run.state);
  const conclusions: string[] = [];
  for (const [index, lane] of states.entries()) {
    const lines = await conclusionOf(lane, claims);
    conclusions.push(`Attempt ${index + 1}:\n${run.fence.around(lines.join('\n'))}`);
  }
  return run.prompts.compare({ count: String(states.length), conclusions: conclusions.join('\n') });
}

/** The last message of an attempt, sentence by sentence, each with the sources that support it. */
async function conclusionOf(lane: ResearchState, claims: ClaimChecker): Promise<string[]> {
  const last = lane.ownEntries.findLast((entry) => entry.t === 'turn');
  if (!last || last.calls.length > 0) return [`- no answer: ${lane.forcedEnd?.why ?? 'it said nothing'}`];
  const ids = new Set(lane.results.values().flatMap(({ records = [] }) => records.map(({ source }) => source)));
  const sources = [...ids].flatMap((id) => (id === null ? [] : (lane.sources.byId(id) ?? []))).slice(0, MAX_SOURCES);
  const sentences = splitSentences(last.message.content).slice(0, MAX_SENTENCES);
  const lines: string[] = [];
  for (const sentence of sentences) {
    const text = sentence.slice(0, MAX_SENTENCE_LENGTH).toWellFormed();
    lines.push(`- ${text} (${await supportText(text, sources, claims)})`);
  }
  return lines;
}

async function supportText(sentence: string, sources: readonly Source[], claims: ClaimChecker): Promise<string> {
  const checked: ({ source: Source } & Support)[] = [];
  await claims.open(sources);
  const check = (source: Source) => void checked.push({ source, ...claims.check(sentence, source) });
  await inSlices(sources, check, { stepsPerClockRead: 1 });
  const sourcesWith = (support: 'quoted' | 'partial') =>
    checked
      .filter((each) => each.support === support)
      .map(({ source }) => `[${source.id}]`)
      .join(', ');
  const [carried, near] = [sourcesWith('quoted'), sourcesWith('partial')];
  if (carried !== '') return `carried by ${carried}`;
  return near === '' ? 'carried by no source that was read' : `not carried by ${near}, which speaks of it`;
}
