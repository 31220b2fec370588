import { queriesOf } from '../guards/repeated-calls.ts';
import type { ResearchState } from '../run/state.ts';
import type { RestartEntry } from '../run/transcript.ts';
import type { Context } from './context.ts';
import { findingsByTurn } from './findings.ts';
import { ledgerBlock } from './ledger.ts';

/** The share of the window that the notes of a fresh attempt may fill. */
const NOTES_SHARE = 0.35;
/** How many earlier queries are listed. */
const MAX_QUERIES = 40;

/**
 * Notes for a fresh attempt, or undefined if it would be of no use: the run has had one already, or found nothing. One
 * fresh attempt with notes beats continuing a spoiled one.
 */
export async function restartNotes(
  state: ResearchState,
  options: { why: string; context: Context },
): Promise<RestartEntry | undefined> {
  if (state.hasRestarted) return undefined;
  const { window, about } = options.context;
  const found = await findingsByTurn(state, about);
  if (found.every(({ results }) => results.length === 0)) return undefined;
  const titleOf = (source: number) => state.sources.byId(source)?.title ?? '';
  const tokens = window.threshold * NOTES_SHARE;
  const findings = await ledgerBlock(found, { tokens, earlier: [], about, titleOf });
  const tried = [...state.calls.values()].flatMap((call) =>
    call.name === 'web_search' ? queriesOf(call.arguments) : [],
  );
  const notes = [
    `An earlier attempt at this question ran into a wall (${options.why}). Begin anew, in another way, with these notes.`,
    ...(tried.length > 0
      ? [`Already searched for: ${tried.slice(-MAX_QUERIES).join('; ')}. Do not repeat these.`]
      : []),
    'What was found stands below. Find out only what is still missing, or say that you are ready.',
  ];
  return { t: 'restart', notes: notes.join('\n\n'), findings };
}
