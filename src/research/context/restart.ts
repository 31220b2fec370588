import { queriesOf } from '../guards/repeated-calls.ts';
import type { ResearchState, RestartEntry } from '../run/transcript.ts';
import { fence } from '../text/prose.ts';
import type { Context } from './context.ts';
import { findingsOf, listFindings } from './findings.ts';

/** The part of the window that the notes of a fresh attempt may fill. */
const NOTES_SHARE = 0.35;
/** Queries that are named as tried. */
const MAX_QUERIES = 40;

/**
 * Notes for a fresh attempt, or undefined where it would be of no use: the run began anew before, or found nothing.
 * One fresh attempt with notes beats continuing a spoiled one.
 */
export function restartNotes(
  state: ResearchState,
  options: { why: string; context: Context },
): RestartEntry | undefined {
  if (state.restarted) return undefined;
  const found = findingsOf(state.entries, state);
  if (found.length === 0) return undefined;
  const { window, digests } = options.context;
  const findings = listFindings(found, { tokens: window.room * NOTES_SHARE, digests });
  const tried = [...state.made.values()].flatMap((call) =>
    call.name === 'web_search' ? queriesOf(call.arguments) : [],
  );
  const notes = [
    `An earlier attempt at this question ran into a wall (${options.why}). Begin anew, in another way, with these notes.`,
    ...(tried.length > 0
      ? [`Already searched for: ${tried.slice(-MAX_QUERIES).join('; ')}. Do not repeat these.`]
      : []),
    `Found so far (numbers in brackets are source ids):\n${fence(findings)}`,
    'Find out only what is still missing, or say that you are ready.',
  ];
  return { t: 'restart', notes: notes.join('\n\n') };
}
