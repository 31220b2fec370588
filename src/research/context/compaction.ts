import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { queriesOf } from '../guards/repeated-calls.ts';
import type { ResearchState } from '../run/state.ts';
import type { CompactionEntry, TurnEntry } from '../run/transcript.ts';
import type { Fence } from '../text/fence.ts';
import { findingsByTurn, type TurnFindings } from './findings.ts';
import { ledgerBlock, MIN_LINE_TOKENS, minTokensOf } from './ledger.ts';
import { lastTurns, messagesOf, type Segment, type SegmentPart, wholeCalls } from './segment.ts';
import { digest } from './tool-digest.ts';

/**
 * Compacts the context (docs/research.md, "Context"): the older turns of the segment become one block of findings, while
 * the latest results stay whole. A block is written once. Its size depends on its share of all turns that the budget
 * allows, so that room is left for later turns.
 */

interface CompactionInput {
  state: ResearchState;
  segment: Segment;
  fence: Fence;
  /** The keywords of the question. */
  about: ReadonlySet<string>;
  /** Tokens that the request may have. */
  limit: number;
  /** Tokens of everything except findings and turns, with the opening fitted into `room` tokens. */
  fixed: number;
  room: number;
  /** How many of the latest results stay whole. */
  keepWhole: number;
  /** How many research turns the budget allows in total. */
  maxTurns: number;
}

/** How much of a request findings may fill: a share of it, or a smaller share plus a constant in large ones. */
const LEDGER_SHARE = 0.64;
const LEDGER_TOKENS = 14_000;
const LEDGER_WIDE_SHARE = 0.08;
/** The share that the latest results may fill, except for those that always stay. */
const RECENT_SHARE = 0.3;
/** How full a request may be after compaction, so that requests can grow again. */
const FILL_SHARE = 0.8;
/** Tokens that are reserved for each future turn, and the share of the rest that a block may take. */
const RESERVED_PER_TURN = 48;
const GENEROUS_SHARE = 0.35;
/** How far a block may exceed the limit of findings before lines are left out, as a share of it. */
const OVERRUN_SHARE = 0.1;
/** How much of their limit rewritten findings fill, and how much they may if they need it. */
const ANEW_SHARE = 0.75;
const ANEW_MAX_SHARE = 0.98;

const HEAD =
  'What earlier tool results of this research say, reduced to what matters. Numbers in brackets are source ids, lines with + are notes of your own:\n';
const FENCE_TOKENS = 24;
const HEAD_TOKENS = estimateTokens(HEAD) + FENCE_TOKENS;

/** The entry that compacts the context, or undefined if that would change nothing. */
export async function compact(context: CompactionInput): Promise<CompactionEntry | undefined> {
  const { state, segment, about, limit, fixed, room } = context;
  const cap = maxFindings(limit);
  const used = estimateRequest(findingsMessages(segment, context.fence));
  const turns = await findingsByTurn(state, about);
  const plan = async (options: { anew: boolean; recent: SegmentPart[] }) => {
    const from = turns.length - countTurns(options.recent);
    const first = options.anew ? 0 : segment.from;
    const found = turns.slice(first, from);
    const before = options.anew ? 0 : used;
    const min = (await minTokensOf(found, about)) + (before === 0 ? HEAD_TOKENS : 1);
    const anew = Math.min(cap * ANEW_MAX_SHARE, Math.max(cap * ANEW_SHARE, min));
    const max = Math.max(0, options.anew ? anew : cap - before);
    return { ...options, from, found, before, max, min, tokens: shareOf(found.length, { ...context, from, max }) };
  };
  const recent = recentParts(context, { used, cap });
  let chosen = await plan({ anew: false, recent });
  const full = chosen.max < Math.min(chosen.min, chosen.found.length * MIN_LINE_TOKENS);
  const narrow = limit - fixed - used < limit * (1 - FILL_SHARE);
  if ((full || narrow) && used > cap * ANEW_SHARE) chosen = await plan({ anew: true, recent });

  const size = estimateRequest(messagesOfParts(chosen.recent, context));
  const left = Math.max(0, limit - fixed - chosen.before);
  const wanted = Math.min(Math.max(chosen.tokens, Math.min(chosen.min, chosen.max + cap * OVERRUN_SHARE)), left);
  // Results that the model has not seen matter more than findings, but neither may take everything.
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
  return changesRequest(entry, segment) ? entry : undefined;
}

/** The block that replaces all turns of a segment, and those of its lanes. */
export async function findingsOfRest(
  context: Omit<CompactionInput, 'room' | 'keepWhole' | 'maxTurns'>,
): Promise<string> {
  const { state, segment, about, limit, fixed } = context;
  const used = estimateRequest(findingsMessages(segment, context.fence));
  const turns = await findingsByTurn(state, about);
  const tokens = Math.min(maxFindings(limit) * ANEW_SHARE, limit * FILL_SHARE - fixed) - used;
  const earlier = turns.slice(0, segment.from);
  return await findingsText(turns.slice(segment.from), { ...context, tokens, anew: false, earlier });
}

/** How many tokens findings may have in a request of `limit` tokens. */
function maxFindings(limit: number): number {
  return Math.min(limit * LEDGER_SHARE, LEDGER_TOKENS + limit * LEDGER_WIDE_SHARE);
}

/** The findings before a segment, as messages: their list only grows. */
export function findingsMessages({ notes, blocks }: Segment, fence: Fence): TurnMessage[] {
  const list = blocks.length === 0 ? undefined : `${HEAD}${fence.around(blocks.join('\n'))}`;
  const texts = [notes, list].filter((text) => text !== undefined);
  return texts.length === 0 ? [] : [{ role: 'user', content: texts.join('\n\n') }];
}

function changesRequest(entry: CompactionEntry, segment: Segment): boolean {
  return (
    entry.anew === true ||
    entry.from > segment.from ||
    entry.room !== segment.room ||
    Object.keys(entry.shortened).some((call) => entry.shortened[Number(call)] !== segment.shortened[Number(call)])
  );
}

/** Tokens for the findings of `count` turns: their even share of what is left for all turns, or more if there is plenty. */
function shareOf(count: number, context: CompactionInput & { from: number; max: number }): number {
  const { maxTurns, from, max } = context;
  const turns = Math.max(0, maxTurns - from) + count;
  const even = (max * count) / Math.max(1, turns);
  const generous = (max - RESERVED_PER_TURN * turns) * GENEROUS_SHARE;
  return Math.min(max, Math.max(even, generous));
}

function countTurns(parts: readonly SegmentPart[]): number {
  return parts.filter(({ entry }) => entry.t === 'turn').length;
}

/** The latest turns that stay as they are: as many as fit and as have `keepWhole` results, but always the last one. */
function recentParts(context: CompactionInput, { used, cap }: { used: number; cap: number }): SegmentPart[] {
  const { segment, limit, fixed, keepWhole } = context;
  const max = Math.min(limit * RECENT_SHARE, limit * FILL_SHARE - fixed - used - (cap - used) * GENEROUS_SHARE);
  const all = countTurns(segment.parts);
  let recent = lastTurns(segment.parts, 1);
  for (let keep = 2; keep <= all; keep++) {
    const wider = lastTurns(segment.parts, keep);
    const results = wholeCalls({ parts: lastTurns(segment.parts, keep - 1), shortened: {} }).size;
    if (results >= keepWhole || estimateRequest(messagesOfParts(wider, context)) > max) break;
    recent = wider;
  }
  return recent;
}

function messagesOfParts(parts: readonly SegmentPart[], { state, fence, segment }: CompactionInput): TurnMessage[] {
  const whole = wholeCalls({ parts, shortened: {} });
  return parts.flatMap((part) => messagesOf(part, { state, fence, whole, shortened: segment.shortened }));
}

/** Shortens the results of these turns to `context.tokens` together; small ones stay whole. */
async function shortenResults(
  parts: readonly SegmentPart[],
  context: CompactionInput & { tokens: number },
): Promise<CompactionEntry['shortened']> {
  const { state, about } = context;
  const calls = parts.flatMap(({ entry }) => (entry.t === 'turn' ? shownCalls(entry) : []));
  const results = [...new Set(calls)].flatMap((call) => {
    const toolCall = state.calls.get(call);
    const result = state.results.get(call);
    return toolCall && result ? [{ toolCall, result, tokens: estimateTokens(result.result) + FENCE_TOKENS }] : [];
  });
  const sum = results.reduce((total, { tokens }) => total + tokens, 0);
  const other = estimateRequest(messagesOfParts(parts, context)) - sum;
  let left = Math.max(0, context.tokens - Math.max(0, other));
  const shortened: CompactionEntry['shortened'] = {};
  const bySize = results.toSorted((a, b) => a.tokens - b.tokens);
  for (const [index, { toolCall, result, tokens }] of bySize.entries()) {
    const share = left / (bySize.length - index);
    left -= Math.min(share, tokens);
    if (tokens <= share) continue;
    const length = Math.floor((result.result.length * Math.max(0, share - FENCE_TOKENS)) / tokens);
    shortened[toolCall.call] = await digest(toolCall, result, { about, maxLength: Math.max(80, length) });
  }
  return shortened;
}

/** The calls whose results a turn shows: its own, and earlier ones that it repeated. */
function shownCalls({ calls }: TurnEntry): number[] {
  return calls.flatMap((planned) => ('call' in planned ? [planned.call] : (planned.again ?? [])));
}

/** Queries are listed if a block has this much room left, in tokens, and at most this many. */
const ROOM_FOR_QUERIES = 200;
const MAX_QUERIES = 30;

async function findingsText(
  found: readonly TurnFindings[],
  context: Pick<CompactionInput, 'state' | 'segment' | 'about'> & {
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
