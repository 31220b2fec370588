import { isEmptyResult } from '../guards/guards.ts';
import type { ExecutableCall, ResearchState, ResultEntry, TranscriptEntry } from '../run/transcript.ts';
import { estimateTokens } from '../text/tokens.ts';
import type { Digests } from './tool-digest.ts';

/** What tool calls found, as a list that is as long as a number of tokens allows. */

/** A call that was made and gave something. */
export interface Finding {
  call: ExecutableCall;
  result: ResultEntry;
}

/** The calls of these entries that gave something, in the order in which they were asked for. */
export function findingsOf(entries: readonly TranscriptEntry[], state: ResearchState): Finding[] {
  return entries
    .filter((entry) => entry.t === 'turn')
    .flatMap((turn) => turn.calls)
    .flatMap((call) => {
      const result = 'call' in call ? state.results.get(call.call) : undefined;
      if (!('call' in call) || result?.status !== 'completed' || isEmptyResult(result.result)) return [];
      return [{ call, result }];
    });
}

/** The most that one finding gets, in UTF-16 code units. */
const MOST = 3000;
/** Findings are not made shorter than this, in tokens: then some are left out. */
const LEAST_TOKENS = 28;
/** How often the length is adapted to what the texts turned out to cost. */
const ADAPTATIONS = 6;

/**
 * One line a finding, all of the same length, `tokens` at most by the gateway's estimate. Where not even short ones
 * fit, lines are left out evenly: neither the beginning nor the end of a long run may be forgotten.
 */
export function listFindings(found: readonly Finding[], options: { tokens: number; digests: Digests }): string {
  const { tokens, digests } = options;
  if (found.length === 0 || tokens <= 0) return '';
  const least = LEAST_TOKENS * found.length;
  let lines = '';
  let length = Math.min(MOST, (Math.max(tokens, least) * 4) / found.length);
  for (let round = 0; round < ADAPTATIONS; round++) {
    lines = linesOf(found, { digests, length });
    const cost = estimateTokens(lines);
    if (cost <= tokens) return lines;
    if (cost <= least) break;
    length = Math.min(length / 1.2, (length * Math.max(tokens, least)) / cost);
  }
  return thinned(lines.split(LINE), tokens);
}

function linesOf(found: readonly Finding[], { digests, length }: { digests: Digests; length: number }): string {
  const step = stepDown(length);
  return found.map(({ call, result }) => `- ${digests.digest(call, result, step)}`).join('\n');
}

/** Where a line of the list begins. */
const LINE = /\n(?=- )/;

/** As many lines as fit, evenly spread; the last is always among them. */
function thinned(lines: readonly string[], tokens: number): string {
  for (let keep = lines.length; keep > 0; keep = Math.floor(keep * 0.85)) {
    const kept = lines.filter(
      (_, i) => Math.floor(((i + 1) * keep) / lines.length) > Math.floor((i * keep) / lines.length),
    );
    const text = kept.join('\n');
    if (estimateTokens(text) <= tokens) return text;
  }
  return '';
}

/** A length a little below, in steps: a slowly shrinking room finds the digests that were made before. */
function stepDown(length: number): number {
  return Math.ceil(1.2 ** Math.floor(Math.log(length) / Math.log(1.2) + 1e-9));
}
