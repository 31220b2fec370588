import { isObject, parseJson } from '../base/json.ts';
import type { Context } from './context.ts';
import { executedCalls } from './fit-transcript.ts';
import { fence } from './prose.ts';
import { digest } from './tool-digest.ts';
import type { ResearchState, RestartEntry } from './transcript.ts';

/** The part of the window that the notes of a fresh attempt may fill. */
const NOTES_SHARE = 0.35;
const CHARS_PER_TOKEN = 4;
const MIN_FINDING = 70;
const MAX_FINDING = 900;
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
  const found = executedCalls(state.entries, state);
  if (found.length === 0) return undefined;
  const length = options.context.window.room * NOTES_SHARE * CHARS_PER_TOKEN;
  const each = Math.min(MAX_FINDING, Math.max(MIN_FINDING, Math.floor(length / found.length)));
  const { about } = options.context.digesting;
  const findings: string[] = [];
  let left = length;
  for (const { call, result } of found) {
    const line = `- ${digest(call, result, { about, maxLength: each })}`;
    if (line.length > left) break;
    findings.push(line);
    left -= line.length;
  }
  const queries = found.flatMap(({ call }) => queriesOf(call.arguments)).slice(-MAX_QUERIES);
  const notes = [
    `An earlier attempt at this question ran into a wall (${options.why}). Begin anew, in another way, with these notes.`,
    ...(queries.length > 0 ? [`Already searched for: ${queries.join('; ')}. Do not repeat these.`] : []),
    `Found so far (numbers in brackets are source ids):\n${fence(findings.join('\n'))}`,
    'Find out only what is still missing, or say that you are ready.',
  ];
  return { t: 'restart', notes: notes.join('\n\n') };
}

function queriesOf(args: string): string[] {
  const value = parseJson(args);
  return isObject(value) && Array.isArray(value.queries)
    ? value.queries.filter((query) => typeof query === 'string')
    : [];
}
