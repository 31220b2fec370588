import { hash } from 'node:crypto';
import { isObject, parseJson } from '../../base/json.ts';
import { toSingleLine } from '../../base/text.ts';
import { UPDATE_PLAN } from '../../protocol/plan.ts';
import type { ResearchState } from '../run/state.ts';
import type { ExecutableCall } from '../run/transcript.ts';
import { singular } from '../text/key-facts.ts';

/** Why a call is not made, in words for the model; `again`: the earlier call whose result answers it. */
export interface RefusedCall {
  refused: string;
  again?: number;
}

/** The reason not to make a call, or undefined. `turn`: the keys of the calls in this turn so far. */
export function refuseRepeated(
  call: { name: string; arguments: string },
  state: ResearchState,
  turn: readonly string[],
): RefusedCall | undefined {
  const wanted = callKey(call);
  if (turn.includes(wanted)) return { refused: 'This call stands twice in the same turn; it was made once.' };
  // A plan may return to an earlier state.
  if (call.name === UPDATE_PLAN) return undefined;
  const alike = [...state.calls.values()].filter(({ name }) => name === call.name);
  const digest = hash('sha256', wanted);
  const same = alike.findLast((earlier) => digestOf(earlier) === digest && succeeded(earlier, state));
  if (same && !mayDiffer(same, state)) {
    return {
      refused: 'You made exactly this call before; it was not made again. Use its result, or ask for something else.',
      again: same.call,
    };
  }
  if (same || call.name !== 'web_search') return undefined;
  return refuseSimilarSearch(call, alike, state);
}

/** A key that is equal for equal calls: order of keys, case and white space do not matter. */
export function callKey(call: { name: string; arguments: string }): string {
  return `${call.name} ${JSON.stringify(normal(parseJson(call.arguments)))}`;
}

/** Digests of the keys of earlier calls: arguments may be long, and every further call is compared with all of them. */
const digests = new WeakMap<ExecutableCall, string>();

function digestOf(call: ExecutableCall): string {
  return digests.getOrInsertComputed(call, () => hash('sha256', callKey(call)));
}

function succeeded({ call }: ExecutableCall, state: ResearchState): boolean {
  return state.results.get(call)?.status === 'completed';
}

/** Tools of an MCP server may have side effects, so the same call may give another result after any later call to it. */
function mayDiffer(same: ExecutableCall, state: ResearchState): boolean {
  const dot = same.name.indexOf('.');
  if (dot === -1) return false;
  const server = same.name.slice(0, dot + 1);
  return state.calls.values().some(({ call, name }) => call > same.call && name.startsWith(server));
}

function refuseSimilarSearch(
  call: { arguments: string },
  searches: readonly ExecutableCall[],
  state: ResearchState,
): RefusedCall | undefined {
  const queries = queriesOf(call.arguments);
  if (queries.length === 0) return undefined;
  const answered = searches.filter((search) => succeeded(search, state));
  const before = queries.map((query) =>
    answered.findLast((search) => queriesOf(search.arguments).some((asked) => nearlySame(query, asked))),
  );
  if (!before.every((search) => search !== undefined)) return undefined;
  const refused = 'You searched for nearly the same before; it was not done again. Use other words or another angle.';
  const [first] = before;
  return first && before.every((search) => search === first) ? { refused, again: first.call } : { refused };
}

/**
 * Whether two queries mean the same to any index: the same words apart from order, plural, case and filler words. One
 * name, number or operator more or less makes a different query.
 */
export function nearlySame(a: string, b: string): boolean {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  return left.size > 0 && left.symmetricDifference(right).size === 0;
}

/** Quoted phrases, excluded words and filters such as `site:` count as one word each. */
const QUERY_WORD = /"[^"]+"|(?<!\S)-[^\s"]+|\w+:\S+|[\p{L}\p{M}\p{N}]+[+#]*/gu;

function wordsOf(query: string): Set<string> {
  const words = query.toLowerCase().match(QUERY_WORD) ?? [];
  return new Set(words.filter((word) => !FILLERS.has(word)).map(singular));
}

const FILLERS = new Set(
  'the a an of in on at for to and is are was were be what which how does do did please about'.split(' '),
);

/** The queries of a search call. */
export function queriesOf(args: string): string[] {
  const value = parseJson(args);
  if (!isObject(value)) return [];
  const list = Array.isArray(value.queries) ? value.queries : [value.query];
  return list.filter((query) => typeof query === 'string');
}

function normal(value: unknown): unknown {
  if (typeof value === 'string') return toSingleLine(value.toLowerCase());
  if (Array.isArray(value)) return value.map(normal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, normal(inner)]),
  );
}
