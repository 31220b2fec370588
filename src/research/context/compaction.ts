import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { queriesOf } from '../guards/repeated-calls.ts';
import type { ResearchState } from '../run/state.ts';
import type { CompactionEntry, TurnEntry } from '../run/transcript.ts';
import type { Fence } from '../text/fence.ts';
import { findingsByTurn, type TurnFindings } from './findings.ts';
import { fewestTokensOf, ledgerBlock, MIN_LINE_TOKENS } from './ledger.ts';
import { lastTurns, messagesOf, type Segment, type SegmentPart, wholeCalls } from './segment.ts';
import { digest } from './tool-digest.ts';

/**
 * Making room (docs/research.md, "Context"): the older turns of the segment become one block of findings,
 * the last results stay whole. A block is written once; what it may hold is its share of all turns that the budget
 * allows, so that there is room for those that are still to come.
 */

interface Compacting {
  state: ResearchState;
  segment: Segment;
  fence: Fence;
  /** The words that matter for the question. */
  about: ReadonlySet<string>;
  /** Tokens that the request may hold. */
  limit: number;
  /** Tokens of all that is neither findings nor turns, with the opening in `room` tokens. */
  fixed: number;
  room: number;
  /** Results that stay whole, counted from the last. */
  keepWhole: number;
  /** Research turns that the budget allows all together. */
  maxTurns: number;
}

/** The most of a request that findings may fill: a part of it, and less of a wide one. */
const LEDGER_SHARE = 0.64;
const LEDGER_TOKENS = 14_000;
const LEDGER_WIDE_SHARE = 0.08;
/** The part that the last results may fill where there is a choice. */
const RECENT_SHARE = 0.3;
/** The part that is filled at most afterwards, so that requests can grow again. */
const FILLED = 0.8;
/** Where turns are to come, each of them keeps so many tokens; of what is left a block may take this part. */
const KEPT_FOR_TURN = 48;
const GENEROUS = 0.35;
/** A block may go beyond what findings may fill by this part of it before lines are left out. */
const BEYOND = 0.1;
/** Findings that are all written anew fill this part of what they may; and up to the second where they need it. */
const ANEW_SHARE = 0.75;
const ANEW_MOST = 0.98;

const HEAD =
  'What earlier tool results of this research say, reduced to what matters. Numbers in brackets are source ids, lines with + are notes of your own:\n';
const FENCE_TOKENS = 24;
const HEAD_TOKENS = estimateTokens(HEAD) + FENCE_TOKENS;

/** The entry that makes room, or undefined if there is none to be made. */
export async function compact(context: Compacting): Promise<CompactionEntry | undefined> {
  const { state, segment, about, limit, fixed, room } = context;
  const cap = mostFindings(limit);
  const used = estimateRequest(findingsMessages(segment, context.fence));
  const turns = await findingsByTurn(state, about);
  const plan = async (options: { anew: boolean; recent: SegmentPart[] }) => {
    const from = turns.length - countTurns(options.recent);
    const first = options.anew ? 0 : segment.from;
    const found = turns.slice(first, from);
    const before = options.anew ? 0 : used;
    const least = (await fewestTokensOf(found, about)) + (before === 0 ? HEAD_TOKENS : 1);
    const anew = Math.min(cap * ANEW_MOST, Math.max(cap * ANEW_SHARE, least));
    const most = Math.max(0, options.anew ? anew : cap - before);
    return { ...options, from, found, before, most, least, tokens: shareOf(found.length, { ...context, from, most }) };
  };
  const recent = recentParts(context, { used, cap });
  let chosen = await plan({ anew: false, recent });
  const full = chosen.most < Math.min(chosen.least, chosen.found.length * MIN_LINE_TOKENS);
  const narrow = limit - fixed - used < limit * (1 - FILLED);
  if ((full || narrow) && used > cap * ANEW_SHARE) chosen = await plan({ anew: true, recent });

  const size = estimateRequest(messagesOfParts(chosen.recent, context));
  const left = Math.max(0, limit - fixed - chosen.before);
  const wanted = Math.min(Math.max(chosen.tokens, Math.min(chosen.least, chosen.most + cap * BEYOND)), left);
  // What was not seen yet matters more than what was: but neither may take all.
  const shared = Math.max(left - wanted, Math.min(size, left * LEDGER_SHARE));
  const shortened = size > shared ? await shortenResults(chosen.recent, { ...context, tokens: shared }) : {};
  const findings = await findingsText(chosen.found, {
    ...context,
    tokens: Math.min(wanted, left - Math.min(size, shared)),
    anew: chosen.anew,
    earlier: chosen.anew ? [] : turns.slice(0, segment.from),
  });
  const entry: CompactionEntry = {
    t: 'compaction',
    findings,
    ...(chosen.anew ? { anew: true } : {}),
    from: chosen.from,
    shortened,
    room,
  };
  return changes(entry, segment) ? entry : undefined;
}

/** The findings of all turns that a segment holds whole, and of lanes beside them, for the block that takes their place. */
export async function findingsOfRest(context: Omit<Compacting, 'room' | 'keepWhole' | 'maxTurns'>): Promise<string> {
  const { state, segment, about, limit, fixed } = context;
  const used = estimateRequest(findingsMessages(segment, context.fence));
  const turns = await findingsByTurn(state, about);
  const tokens = Math.min(mostFindings(limit) * ANEW_SHARE, limit * FILLED - fixed) - used;
  const earlier = turns.slice(0, segment.from);
  return await findingsText(turns.slice(segment.from), { ...context, tokens, anew: false, earlier });
}

/** Tokens that findings may fill of a request that may hold so many. */
function mostFindings(limit: number): number {
  return Math.min(limit * LEDGER_SHARE, LEDGER_TOKENS + limit * LEDGER_WIDE_SHARE);
}

/** What was found before a segment, as messages: the list only gets longer. */
export function findingsMessages({ notes, blocks }: Segment, fence: Fence): TurnMessage[] {
  const list = blocks.length === 0 ? undefined : `${HEAD}${fence.around(blocks.join('\n'))}`;
  const told = [notes, list].filter((text) => text !== undefined);
  return told.length === 0 ? [] : [{ role: 'user', content: told.join('\n\n') }];
}

/** Whether an entry makes the next request another one. */
function changes(entry: CompactionEntry, segment: Segment): boolean {
  return (
    entry.anew === true ||
    entry.from > segment.from ||
    entry.room !== segment.room ||
    Object.keys(entry.shortened).some((call) => entry.shortened[Number(call)] !== segment.shortened[Number(call)])
  );
}

/** Tokens for the findings of so many turns: their part of what is left for all turns, or more where there is plenty. */
function shareOf(count: number, context: Compacting & { from: number; most: number }): number {
  const { maxTurns, from, most } = context;
  const turns = Math.max(0, maxTurns - from) + count;
  const even = (most * count) / Math.max(1, turns);
  const generous = (most - KEPT_FOR_TURN * turns) * GENEROUS;
  return Math.min(most, Math.max(even, generous));
}

function countTurns(parts: readonly SegmentPart[]): number {
  return parts.filter(({ entry }) => entry.t === 'turn').length;
}

/** The last turns that stay as they are: those of the last results that fit; the very last always. */
function recentParts(context: Compacting, { used, cap }: { used: number; cap: number }): SegmentPart[] {
  const { segment, limit, fixed, keepWhole } = context;
  const most = Math.min(limit * RECENT_SHARE, limit * FILLED - fixed - used - (cap - used) * GENEROUS);
  const all = countTurns(segment.parts);
  let recent = lastTurns(segment.parts, 1);
  for (let keep = 2; keep <= all; keep++) {
    const wider = lastTurns(segment.parts, keep);
    const results = wholeCalls({ parts: lastTurns(segment.parts, keep - 1), shortened: {} }).size;
    if (results >= keepWhole || estimateRequest(messagesOfParts(wider, context)) > most) break;
    recent = wider;
  }
  return recent;
}

function messagesOfParts(parts: readonly SegmentPart[], { state, fence, segment }: Compacting): TurnMessage[] {
  const whole = wholeCalls({ parts, shortened: {} });
  return parts.flatMap((part) => messagesOf(part, { state, fence, whole, shortened: segment.shortened }));
}

/** The results of these turns reduced to so many tokens together; small ones stay whole. */
async function shortenResults(
  parts: readonly SegmentPart[],
  context: Compacting & { tokens: number },
): Promise<CompactionEntry['shortened']> {
  const { state, about } = context;
  const calls = parts.flatMap(({ entry }) => (entry.t === 'turn' ? shownCalls(entry) : []));
  const results = [...new Set(calls)].flatMap((call) => {
    const made = state.made.get(call);
    const result = state.results.get(call);
    return made && result ? [{ made, result, tokens: estimateTokens(result.result) + FENCE_TOKENS }] : [];
  });
  const sum = results.reduce((total, { tokens }) => total + tokens, 0);
  const other = estimateRequest(messagesOfParts(parts, context)) - sum;
  let left = Math.max(0, context.tokens - Math.max(0, other));
  const shortened: CompactionEntry['shortened'] = {};
  const bySize = results.toSorted((a, b) => a.tokens - b.tokens);
  for (const [index, { made, result, tokens }] of bySize.entries()) {
    const share = left / (bySize.length - index);
    left -= Math.min(share, tokens);
    if (tokens <= share) continue;
    const length = Math.floor((result.result.length * Math.max(0, share - FENCE_TOKENS)) / tokens);
    shortened[made.call] = await digest(made, result, { about, maxLength: Math.max(80, length) });
  }
  return shortened;
}

/** The calls whose results a turn shows: its own, and those that it asked for again. */
function shownCalls({ calls }: TurnEntry): number[] {
  return calls.flatMap((planned) => ('call' in planned ? [planned.call] : (planned.again ?? [])));
}

/** Queries are named where a block has this much room left, in tokens, and so many of them at most. */
const ROOM_FOR_QUERIES = 200;
const MAX_QUERIES = 30;

async function findingsText(
  found: readonly TurnFindings[],
  context: Pick<Compacting, 'state' | 'segment' | 'about'> & {
    tokens: number;
    anew: boolean;
    earlier: readonly TurnFindings[];
  },
): Promise<string> {
  const { state, segment, about, earlier } = context;
  const first = segment.blocks.length === 0 || context.anew;
  const tokens = context.tokens - (first ? HEAD_TOKENS : 1);
  const titleOf = (source: number) => state.sources.byId(source)?.title ?? '';
  const block = tokens < MIN_LINE_TOKENS ? '' : await ledgerBlock(found, { tokens, earlier, about, titleOf });
  if (block === '') return '';
  const tried = found.flatMap(({ results }) =>
    results.flatMap(({ call }) => (call.name === 'web_search' ? queriesOf(call.arguments) : [])),
  );
  const room = tokens - estimateTokens(block);
  const queries = room < ROOM_FOR_QUERIES || tried.length === 0 ? '' : searchedFor(tried, room / 2);
  return `${block}${queries}`;
}

function searchedFor(queries: readonly string[], tokens: number): string {
  const named = [...new Set(queries)].slice(-MAX_QUERIES);
  while (named.length > 0 && estimateTokens(named.join('; ')) > tokens) named.shift();
  return named.length === 0 ? '' : `\n- Searched for already: ${named.join('; ')}.`;
}
