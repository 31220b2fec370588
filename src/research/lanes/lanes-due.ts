import { isSettled } from '../../protocol/plan.ts';
import { MIN_TURN_OUTPUT } from '../run/cost-budget.ts';
import { isOwnTool } from '../run/own-tools.ts';
import type { ResearchRun } from '../run/run.ts';
import type { LanesEntry } from '../run/transcript.ts';
import { lastEstimate } from './shares.ts';

/** Decides whether research splits into lanes, and gives each its task (docs/research.md, "Lanes and attempts"). */

/** How attempts at the same question start, so that they do not all go the same way. */
const BEGINNINGS = [
  'Begin with the plain question, in its own words.',
  'Begin at the primary source: who would have published this first, and where?',
  'Begin with other names for the same thing, or in another language.',
  'Begin with what would prove the obvious answer wrong.',
  'Begin with the newest reports, and go back from there.',
  'Begin with reference works, registers and data sets.',
  'Begin with the people, places and organisations of the question.',
  'Begin with each condition of the question alone, and see what meets all of them.',
] as const;

/** The lanes that should run now: those that have started and not ended, or new ones. */
export function lanesDue(run: ResearchRun): LanesEntry | undefined {
  const { request, state, tools } = run;
  if (state.lanes || state.joined) return state.joined ? undefined : state.lanes;
  const looksUp = tools.keys().some((name) => !isOwnTool(name));
  if (run.lane || !looksUp || request.plan === 'propose') return undefined;
  return attemptsOf(run) ?? partsOf(run);
}

/** How many of the wanted lanes the remaining turns and money are enough for. */
function affordable({ state, budget, costBudget }: ResearchRun, wanted: number): number {
  let count = Math.min(wanted, budget.turns - state.turns - 1);
  if (!costBudget.isLimited) return count;
  const minCost = MIN_TURNS * costBudget.costOf({ input: lastEstimate(state), output: MIN_TURN_OUTPUT });
  // What follows the lanes gets a share like theirs, which is enough: an answer costs less than two turns.
  while (count > 1 && costBudget.remaining / (count + 1) < minCost) count--;
  return count;
}
/** A lane needs one turn to look something up, and one to say what it found. */
const MIN_TURNS = 2;

/** A run that may ask the user has its first turn before attempts start. */
function attemptsOf(run: ResearchRun): LanesEntry | undefined {
  const { state } = run;
  const { attempts = 1, clarify } = run.request;
  const count = affordable(run, attempts);
  if (count < 2 || (clarify && state.ownTurns === 0)) return undefined;
  return { t: 'lanes', kind: 'attempts', tasks: BEGINNINGS.slice(0, count).map((beginning) => [beginning]) };
}

function partsOf(run: ResearchRun): LanesEntry | undefined {
  const open = run.state.plan?.items.filter((item) => !isSettled(item)) ?? [];
  const count = affordable(run, Math.min(run.request.lanes ?? 1, open.length));
  if (count < 2) return undefined;
  const tasks = Array.from({ length: count }, (_, lane) =>
    open.filter((_item, index) => index % count === lane).map(({ text }) => text),
  );
  return { t: 'lanes', kind: 'parts', tasks };
}
