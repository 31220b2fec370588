import { isObject, parseJson } from '../base/json.ts';
import type { ResearchState, TurnEntry } from './transcript.ts';

/**
 * Guards against a model that goes in circles. The model is told; after a few bad turns in a row the answer is forced
 * (`stuck`).
 */

/** Turns in a row without anything new before the answer is forced. */
const MAX_BAD_TURNS = 3;

/** Why a call is not made, in words for the model, or undefined. */
export function refuseRepeated(
  call: { name: string; arguments: string },
  state: ResearchState,
  turn: readonly string[],
): string | undefined {
  const wanted = callKey(call);
  if (turn.includes(wanted)) return 'This call stands twice in the same turn; it was made once.';
  for (const entry of state.entries) {
    if (entry.t !== 'turn') continue;
    for (const made of entry.calls) {
      if (!('call' in made) || callKey(made) !== wanted) continue;
      if (state.results.get(made.call)?.status === 'completed') {
        return 'You made exactly this call before; its result is above. Use it, or ask for something else.';
      }
    }
  }
  return undefined;
}

/** The same call in other spelling: order of keys, case and spaces of texts do not matter. */
export function callKey(call: { name: string; arguments: string }): string {
  return `${call.name} ${JSON.stringify(normal(parseJson(call.arguments)))}`;
}

/** Whether the last turns brought nothing: every call refused or failed. */
export function isStuck(state: ResearchState): boolean {
  const turns = state.entries.filter((entry): entry is TurnEntry => entry.t === 'turn').slice(-MAX_BAD_TURNS);
  return (
    turns.length === MAX_BAD_TURNS &&
    turns.every((turn) => turn.calls.length > 0 && turn.calls.every((call) => isFruitless(call, state)))
  );
}

function isFruitless(call: TurnEntry['calls'][number], state: ResearchState): boolean {
  return 'refused' in call || state.results.get(call.call)?.status === 'failed';
}

function normal(value: unknown): unknown {
  if (typeof value === 'string') return value.trim().toLowerCase().replace(/\s+/g, ' ');
  if (Array.isArray(value)) return value.map(normal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, normal(inner)]),
  );
}
