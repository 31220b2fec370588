import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../../base/json.ts';
import { parseLimitedJson } from '../../protocol/requests/json-spans.ts';
import type { Deltas } from '../decoding/decoded-turn.ts';
import { brokenStream } from '../routing/attempt-failure.ts';
import type { TurnToolCall } from '../turn.ts';

/** How many tool calls one turn may have. */
const MAX_CALLS = 1024;

/** How much one turn may parse to see whether arguments are complete, in characters: each fragment costs a parse. */
const MAX_PARSED = 32 * 1024 * 1024;

interface Slot {
  /** The provider's `index`, if it gave one. */
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  /** What the provider attached to the call and expects back (Gemini: `extra_content` with its thought signature). */
  extra: JsonObject | undefined;
}

/**
 * Assembles tool calls from fragments. Providers send them fragmented by index, whole, without index, with index 0 for
 * each of several parallel calls, with the id or name repeated or empty, with arguments as an object.
 */
export class NativeToolCalls {
  readonly #slots: Slot[] = [];
  readonly #deltas: Pick<Deltas, 'countCall' | 'copyForReplay'>;
  #parsed = 0;

  /** `deltas` counts names, arguments and extras against the bounds of the answer. */
  constructor(deltas: Pick<Deltas, 'countCall' | 'copyForReplay'>) {
    this.#deltas = deltas;
  }

  get size(): number {
    return this.#slots.length;
  }

  push(fragments: unknown): void {
    const list = Array.isArray(fragments) ? fragments : [fragments];
    for (const fragment of list) if (isObject(fragment)) this.#add(fragment);
  }

  /** Takes the older `delta.function_call`. */
  pushFunctionCall(call: unknown): void {
    if (isObject(call)) this.#add({ index: 0, function: call });
  }

  /**
   * The complete calls. `cut`: the answer was cut off, so a last call with incomplete arguments is dropped.
   * Calls without a name are dropped, and missing or repeated ids replaced.
   */
  finish(options: { cut: boolean }): { calls: TurnToolCall[]; extras: Map<string, JsonObject> } {
    const calls: TurnToolCall[] = [];
    const extras = new Map<string, JsonObject>();
    const ids = new Set<string>();
    for (const [position, slot] of this.#slots.entries()) {
      if (slot.name === '') continue;
      const text = normalizedArguments(slot.arguments);
      if (options.cut && position === this.#slots.length - 1 && parseLimitedJson(text) === undefined) continue;
      const id = slot.id !== '' && !ids.has(slot.id) ? slot.id : newCallId();
      ids.add(id);
      calls.push({ id, name: slot.name, arguments: text });
      if (slot.extra) extras.set(id, slot.extra);
    }
    return { calls, extras };
  }

  #add(fragment: Record<string, unknown>): void {
    const source = isObject(fragment.function) ? fragment.function : fragment;
    const name = typeof source.name === 'string' ? source.name : '';
    const id = typeof fragment.id === 'string' ? fragment.id : '';
    const index = indexOf(fragment.index);
    const text = argumentText(source.arguments);
    this.#deltas.countCall(name);
    this.#deltas.countCall(text);
    let slot = this.#find({ index, id, name });
    if (slot === undefined) {
      if (this.#slots.length >= MAX_CALLS) throw brokenStream('the answer does not end');
      slot = { index, id, name, arguments: '', extra: undefined };
      this.#slots.push(slot);
    } else {
      if (slot.id === '') slot.id = id;
      // The name comes in pieces, or is repeated as a whole; some servers send it after the arguments.
      if (name !== slot.name && (slot.arguments === '' || slot.name === '')) slot.name += name;
    }
    // Some servers repeat the arguments so far in every fragment, or once at the end.
    const repeats = slot.arguments.length > 1 && text.startsWith(slot.arguments);
    slot.arguments = repeats ? text : slot.arguments + text;
    slot.extra = this.#deltas.copyForReplay(fragment.extra_content) ?? slot.extra;
  }

  /** The slot that a fragment continues, or undefined where it starts a new call. */
  #find(fragment: { index: number | undefined; id: string; name: string }): Slot | undefined {
    const { index, id, name } = fragment;
    const slot =
      index === undefined
        ? ((id === '' ? undefined : this.#slots.find((known) => known.id === id)) ?? this.#slots.at(-1))
        : this.#slots.findLast((known) => known.index === index);
    if (slot === undefined) return undefined;
    if (id !== '' && slot.id !== '' && id !== slot.id) return name === '' ? slot : undefined;
    if (id !== '' && id === slot.id) return slot;
    // Without ids to tell calls apart, a name after complete arguments starts the next call.
    if (name !== '' && slot.name !== '' && slot.arguments !== '' && this.#isComplete(slot.arguments)) return undefined;
    return slot;
  }

  /** Whether arguments are complete JSON. */
  #isComplete(text: string): boolean {
    if (!/["}\]]$/.test(text.slice(-TAIL).trimEnd()) || this.#parsed > MAX_PARSED) return false;
    this.#parsed += text.length;
    return parseLimitedJson(text) !== undefined;
  }
}

/** How much of the end of arguments is checked for a closing character, in characters. */
const TAIL = 64;

function indexOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : undefined;
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}

/** The arguments, `{}` where there are none, without the empty object that some proxies send before the real ones. */
function normalizedArguments(text: string): string {
  if (text.trim() === '') return '{}';
  const rest = text.replace(/^\s*\{\s*\}\s*(?=\{)/, '');
  return rest !== text && parseLimitedJson(rest) !== undefined ? rest : text;
}

/** An id for a call that came without one. */
export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}
