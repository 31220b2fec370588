import { inSlices } from '../../base/load/event-loop.ts';
import { ClaimChecker, type Support } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Source } from '../run/sources.ts';
import type { ResearchState } from '../run/state.ts';
import type { JoinedEntry, LanesEntry } from '../run/transcript.ts';
import { splitSentences } from '../text/key-facts.ts';

/** What lanes found, as the research goes on with it. */

/** Of what an attempt came to, so many sentences are looked at, of this length in UTF-16 code units. */
const MAX_SENTENCES = 5;
const LONGEST_SENTENCE = 400;
/** Sources of an attempt that its sentences are held against. */
const MAX_SOURCES = 40;

/** The entry that ends the lanes. */
export async function joinLanes(
  run: ResearchRun,
  { lanes, states, context }: { lanes: LanesEntry; states: readonly ResearchState[]; context: Context },
): Promise<JoinedEntry> {
  const { state } = run;
  const done = states.flatMap((lane, index) => (lane.isResearchDone() && !lane.forced ? [index + 1] : []));
  const limits = states.flatMap(({ forced }) => (forced && forced.reason !== 'stuck' ? [forced.reason] : []));
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
  const failed = states.flatMap(({ forced }, index) =>
    forced ? (lanes.tasks[index]?.map((task) => `- ${task}: ${forced.why}`) ?? []) : [],
  );
  const told = failed.length === 0 ? '' : ` These parts ended early:\n${fence.around(failed.join('\n'))}\n`;
  return prompts.joined({ count: String(states.length), failed: told });
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

/** What an attempt said last, sentence by sentence, each with the source that carries it. */
async function conclusionOf(lane: ResearchState, claims: ClaimChecker): Promise<string[]> {
  const said = lane.ownEntries.findLast((entry) => entry.t === 'turn');
  if (!said || said.calls.length > 0) return [`- no answer: ${lane.forced?.why ?? 'it said nothing'}`];
  const met = new Set(lane.results.values().flatMap(({ records = [] }) => records.map(({ source }) => source)));
  const sources = [...met].flatMap((id) => (id === null ? [] : (lane.sources.byId(id) ?? []))).slice(0, MAX_SOURCES);
  const sentences = splitSentences(said.message.content).slice(0, MAX_SENTENCES);
  const lines: string[] = [];
  for (const sentence of sentences) {
    const text = sentence.slice(0, LONGEST_SENTENCE).toWellFormed();
    lines.push(`- ${text} (${await carriedBy(text, sources, claims)})`);
  }
  return lines;
}

async function carriedBy(sentence: string, sources: readonly Source[], claims: ClaimChecker): Promise<string> {
  const held: ({ source: Source } & Support)[] = [];
  await claims.open(sources);
  await inSlices(sources, (source) => void held.push({ source, ...claims.check(sentence, source) }), { stepsALook: 1 });
  const named = (support: 'quoted' | 'partial') =>
    held
      .filter((each) => each.support === support)
      .map(({ source }) => `[${source.id}]`)
      .join(', ');
  const [carried, near] = [named('quoted'), named('partial')];
  if (carried !== '') return `carried by ${carried}`;
  return near === '' ? 'carried by no source that was read' : `not carried by ${near}, which speaks of it`;
}
