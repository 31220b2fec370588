import type { TurnMessage } from '../upstream/turn.ts';
import { fence } from './prose.ts';
import { estimateRequest, estimateTokens } from './tokens.ts';
import { digest } from './tool-digest.ts';
import type {
  ExecutableCall,
  PlannedCall,
  ResearchState,
  ResultEntry,
  TranscriptEntry,
  TurnEntry,
} from './transcript.ts';

/**
 * The transcript as messages that fit a room (architecture: "Research loop", Context). What is sent is a trimmed copy;
 * the transcript is never cut. Recent results stay whole; older ones shrink to title, source id and key facts; when
 * that is not enough, all but the last turn becomes a list of findings.
 */
export function fitTranscript(
  state: ResearchState,
  options: Digesting & { room: number; keepWhole: number },
): TurnMessage[] {
  const entries = state.attempt();
  for (const level of levels(options.keepWhole)) {
    const messages = render(entries, { ...options, state, level });
    if (estimateRequest(messages) <= options.room) return messages;
  }
  return renderFindings(entries, { ...options, state });
}

/** What reducing needs: the words that matter, and what was reduced before. */
export interface Digesting {
  about: ReadonlySet<string>;
  cache: DigestCache;
}

/** How much of the transcript is sent. Lengths are in UTF-16 code units. */
interface Level {
  /** Results that stay whole, counted from the last. */
  whole: number;
  /** The longest that a whole one may be. */
  wholeLength: number;
  /** Key facts of each older result. */
  facts: number;
  /** What the model said in each older turn. */
  said: number;
}

function levels(keep: number): Level[] {
  return [
    { whole: keep, wholeLength: Number.POSITIVE_INFINITY, facts: 900, said: Number.POSITIVE_INFINITY },
    { whole: keep, wholeLength: 16_000, facts: 500, said: 800 },
    { whole: Math.min(keep, 3), wholeLength: 10_000, facts: 300, said: 300 },
    { whole: 1, wholeLength: 8000, facts: 180, said: 120 },
  ];
}

interface Rendering extends Digesting {
  state: ResearchState;
  level: Level;
}

function render(entries: readonly TranscriptEntry[], options: Rendering): TurnMessage[] {
  const { state, level } = options;
  const whole = new Set([...state.results.keys()].slice(-level.whole));
  const turns = entries.filter((entry) => entry.t === 'turn');
  const messages: TurnMessage[] = [];
  for (const entry of entries) {
    if (entry.t === 'note') messages.push({ role: 'user', content: entry.text });
    if (entry.t === 'restart') messages.push({ role: 'user', content: entry.notes });
    if (entry.t !== 'turn') continue;
    const recent = entry === turns.at(-1);
    messages.push(recent ? entry.message : { ...entry.message, content: shorten(entry.message.content, level.said) });
    for (const planned of entry.calls) messages.push(toolMessage(planned, { ...options, whole }));
  }
  return messages;
}

function toolMessage(planned: PlannedCall, options: Rendering & { whole: ReadonlySet<number> }): TurnMessage {
  const { state, level, whole } = options;
  const base = { role: 'tool' as const, tool_call_id: planned.id };
  if ('refused' in planned) return { ...base, content: planned.refused };
  const result = state.results.get(planned.call);
  if (!result) return { ...base, content: 'The call was interrupted.' };
  const keep = whole.has(planned.call) && result.result.length <= level.wholeLength;
  const maxLength = whole.has(planned.call) ? level.wholeLength : level.facts;
  return { ...base, content: fence(keep ? result.result : cachedDigest(planned, result, { ...options, maxLength })) };
}

/** The least that a finding gets, in UTF-16 code units. */
const MIN_FINDING = 70;

/** Everything before the last turn as a list of findings, each as long as the room allows. */
function renderFindings(
  entries: readonly TranscriptEntry[],
  options: Digesting & { state: ResearchState; room: number },
): TurnMessage[] {
  const { state, room } = options;
  const lastTurn = entries.findLastIndex((entry) => entry.t === 'turn');
  const level: Level = {
    whole: 1,
    wholeLength: Math.max(400, Math.floor(room * 0.8)),
    facts: MIN_FINDING * 2,
    said: 120,
  };
  const recent = render(entries.slice(Math.max(0, lastTurn)), { ...options, level });
  const found = executedCalls(entries.slice(0, Math.max(0, lastTurn)), state);
  const lengthLeft = Math.max(0, room - estimateRequest(recent)) * CHARS_PER_TOKEN - FINDINGS_HEAD.length;
  const restart = entries.find((entry) => entry.t === 'restart');
  const lines = restart ? [shorten(restart.notes, Math.floor(lengthLeft / 3))] : [];
  const each = Math.max(
    MIN_FINDING,
    Math.floor((lengthLeft - (lines[0]?.length ?? 0)) / Math.max(1, found.length)) - 4,
  );
  for (const { call, result } of found) lines.push(`- ${cachedDigest(call, result, { ...options, maxLength: each })}`);
  const text = fitLines(lines, Math.floor(lengthLeft / CHARS_PER_TOKEN));
  return text === '' ? recent : [{ role: 'user', content: `${FINDINGS_HEAD}${fence(text)}` }, ...recent];
}

const FINDINGS_HEAD =
  'Earlier tool results of this research, reduced to what matters (numbers in brackets are source ids):\n';
const CHARS_PER_TOKEN = 4;

/** The lines that fit, the same share from the beginning and from the end: neither may be forgotten. */
function fitLines(lines: readonly string[], tokens: number): string {
  let kept = [...lines];
  while (kept.length > 2 && estimateTokens(kept.join('\n')) > tokens) {
    const drop = Math.max(1, Math.floor(kept.length / 20));
    const middle = Math.floor(kept.length / 2);
    kept = [...kept.slice(0, middle - Math.ceil(drop / 2)), ...kept.slice(middle + Math.floor(drop / 2))];
  }
  return kept.join('\n');
}

/** Calls that were made and gave something. */
export function executedCalls(
  entries: readonly TranscriptEntry[],
  state: ResearchState,
): { call: ExecutableCall; result: ResultEntry }[] {
  return entries
    .filter((entry): entry is TurnEntry => entry.t === 'turn')
    .flatMap((turn) => turn.calls)
    .flatMap((call) => {
      const result = 'call' in call ? state.results.get(call.call) : undefined;
      return 'call' in call && result?.status === 'completed' ? [{ call, result }] : [];
    });
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}

/** Digests by result and length, made once: a transcript of hundreds of results is rendered anew for every turn. */
export type DigestCache = WeakMap<ResultEntry, Map<number, string>>;

function cachedDigest(call: ExecutableCall, result: ResultEntry, options: Digesting & { maxLength: number }): string {
  const maxLength = stepDown(Math.min(MAX_DIGEST, Math.max(MIN_FINDING, options.maxLength)));
  const made = options.cache.get(result) ?? new Map<number, string>();
  options.cache.set(result, made);
  const known = made.get(maxLength);
  if (known !== undefined) return known;
  const text = digest(call, result, { about: options.about, maxLength });
  made.set(maxLength, text);
  return text;
}

const MAX_DIGEST = 20_000;

/** A length a little below: in steps, so that a slowly shrinking room finds what was made before. */
function stepDown(length: number): number {
  return Math.ceil(1.2 ** Math.floor(Math.log(length) / Math.log(1.2) + 1e-9));
}
