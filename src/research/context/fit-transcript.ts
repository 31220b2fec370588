import type { TurnMessage } from '../../upstream/turn.ts';
import type { PlannedCall, ResearchState, TranscriptEntry } from '../run/transcript.ts';
import { fence } from '../text/prose.ts';
import { estimateRequest, estimateTokens, fitIn } from '../text/tokens.ts';
import { findingsOf, listFindings } from './findings.ts';
import type { Digests } from './tool-digest.ts';

/**
 * The transcript as messages that fit a room (architecture: "Research loop", Context). What is sent is a trimmed copy;
 * the transcript is never cut. Recent results stay whole; older ones shrink to title, source id and key facts; when
 * that is not enough, the older turns become one list of findings.
 */
export function fitTranscript(state: ResearchState, options: Fitting): TurnMessage[] {
  const entries = state.attempt();
  const { room, keepWhole } = options;
  for (const level of [
    { whole: keepWhole, wholeTokens: Number.POSITIVE_INFINITY, facts: 900, said: Number.POSITIVE_INFINITY },
    { whole: keepWhole, wholeTokens: room * 0.3, facts: 500, said: 800 },
  ]) {
    const messages = renderTurns(entries, { ...options, state, level });
    if (fitIn(room, messages)) return messages;
  }
  return withFindings(entries, { ...options, state });
}

export interface Fitting {
  /** Tokens that the messages may hold, by the gateway's estimate. */
  room: number;
  /** Recent tool results that stay whole. */
  keepWhole: number;
  digests: Digests;
}

/** How much of the turns is sent. */
interface Level {
  /** Results that stay whole, counted from the last. */
  whole: number;
  /** Tokens that a whole one may have; a longer one is reduced to about that. */
  wholeTokens: number;
  /** The length of each older result, in UTF-16 code units. */
  facts: number;
  /** What the model said in each older turn, in UTF-16 code units. */
  said: number;
}

type Rendering = Fitting & { state: ResearchState; level: Level };

function renderTurns(entries: readonly TranscriptEntry[], options: Rendering): TurnMessage[] {
  const lastTurn = entries.findLast((entry) => entry.t === 'turn');
  // What the last turn asked for has not been seen yet.
  const unseen = lastTurn ? shownResults([lastTurn], options.state).length : 0;
  const whole = new Set(shownResults(entries, options.state).slice(-Math.max(options.level.whole, unseen)));
  const messages: TurnMessage[] = [];
  for (const entry of entries) {
    if (entry.t === 'note') messages.push({ role: 'user', content: entry.text });
    if (entry.t === 'restart') messages.push({ role: 'user', content: entry.notes });
    if (entry.t !== 'turn') continue;
    const { message } = entry;
    const most = entry === lastTurn ? lengthOf(message.content, options.level.wholeTokens) : options.level.said;
    const said = shorten(message.content, most);
    messages.push({ ...message, content: said });
    for (const planned of entry.calls) messages.push(toolMessage(planned, { ...options, whole: whole.has(planned) }));
  }
  return messages;
}

/** The calls behind which a result can stand, in the order in which the results came or were asked for again. */
function shownResults(entries: readonly TranscriptEntry[], state: ResearchState): PlannedCall[] {
  const finished = new Map([...state.results.keys()].map((call, index) => [call, index]));
  const place = (planned: PlannedCall) => finished.get(resultBehind(planned) ?? -1);
  return entries
    .filter((entry) => entry.t === 'turn')
    .flatMap(({ calls }) =>
      calls.filter((call) => place(call) !== undefined).toSorted((a, b) => (place(a) ?? 0) - (place(b) ?? 0)),
    );
}

/** The number of the call whose result stands behind a call: its own, or of the same call made before. */
function resultBehind(planned: PlannedCall): number | undefined {
  return 'call' in planned ? planned.call : planned.again;
}

function toolMessage(planned: PlannedCall, options: Rendering & { whole: boolean }): TurnMessage {
  const refused = 'refused' in planned ? planned.refused : undefined;
  const number = resultBehind(planned);
  const made = number === undefined ? undefined : options.state.made.get(number);
  const result = number === undefined ? undefined : options.state.results.get(number);
  const base = { role: 'tool' as const, tool_call_id: planned.id };
  if (refused !== undefined && !options.whole) return { ...base, content: refused };
  if (!made || !result) return { ...base, content: refused ?? 'The call was interrupted.' };

  const { level, digests } = options;
  const length = options.whole ? lengthOf(result.result, level.wholeTokens) : level.facts;
  const text = length >= result.result.length ? result.result : digests.digest(made, result, length);
  return { ...base, content: refused === undefined ? fence(text) : `${refused}\n${fence(text)}` };
}

/** The length in UTF-16 code units that a text may keep. */
function lengthOf(text: string, mostTokens: number): number {
  const tokens = mostTokens === Number.POSITIVE_INFINITY ? 0 : estimateTokens(text);
  return tokens <= mostTokens ? text.length : Math.floor((text.length * mostTokens) / tokens);
}

/** The part of the room that recent turns may have where the others become findings. */
const RECENT_SHARE = 0.55;

/**
 * Older turns as a list of findings, as long as the room allows, and behind it the turns of the last results. What an
 * earlier attempt found stands in the list like everything else.
 */
function withFindings(entries: readonly TranscriptEntry[], options: Fitting & { state: ResearchState }): TurnMessage[] {
  const { state, room, digests } = options;
  const { from, messages: recent } = recentTurns(entries, options);
  const older = state.entries.slice(0, state.entries.length - (entries.length - from));
  const left = room - estimateRequest(recent) - estimateTokens(FINDINGS_HEAD) - FENCE_TOKENS;
  const list = listFindings(findingsOf(older, state), { tokens: left, digests });
  return list === '' ? recent : [{ role: 'user', content: `${FINDINGS_HEAD}${fence(list)}` }, ...recent];
}

const FINDINGS_HEAD =
  'Earlier tool results of this research, reduced to what matters (numbers in brackets are source ids):\n';
const FENCE_TOKENS = 20;

/** As many of the last turns as hold the results that stay whole and fit their share of the room; the last always. */
function recentTurns(
  entries: readonly TranscriptEntry[],
  options: Fitting & { state: ResearchState },
): { from: number; messages: TurnMessage[] } {
  const { state, room, keepWhole } = options;
  const turns = entries.flatMap((entry, index) => (entry.t === 'turn' ? [index] : []));
  const last = turns.at(-1) ?? entries.length;
  const share = room * RECENT_SHARE;
  for (const keep of [keepWhole, Math.ceil(keepWhole / 2)]) {
    const from = turns.findLast((index) => shownResults(entries.slice(index), state).length >= keep) ?? last;
    const level = { whole: keep, wholeTokens: Number.POSITIVE_INFINITY, facts: 300, said: 800 };
    const messages = renderTurns(entries.slice(from), { ...options, level });
    if (fitIn(share, messages)) return { from, messages };
  }
  const shown = Math.max(1, shownResults(entries.slice(last), state).length);
  const level = { whole: shown, wholeTokens: share / shown, facts: 120, said: 120 };
  return { from: last, messages: renderTurns(entries.slice(last), { ...options, level }) };
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}
