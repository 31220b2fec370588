import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../../base/json.ts';
import { parseReadable } from '../../protocol/requests/json-spans.ts';
import type { Deltas } from '../decoding/decoded-turn.ts';
import type { TurnToolCall } from '../turn.ts';

/** Tool calls in one turn at most; a model that writes more is out of its mind. */
const MAX_CALLS = 256;

/** What is read of arguments in one turn to see whether they are whole, in characters: a hostile provider makes us ask for each byte. */
const MOST_READ = 32 * 1024 * 1024;

interface Slot {
  /** The provider's `index`, if it gave one. */
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  /** What the provider attached to the call and wants back (Gemini: `extra_content` with its thought signature). */
  extra: JsonObject | undefined;
}

/**
 * Puts tool calls together from fragments. Providers send them fragmented by index, whole, without index, with index 0
 * for all of several parallel calls, with the id or name repeated or empty, with arguments as an object.
 */
export class NativeToolCalls {
  readonly #slots: Slot[] = [];
  readonly #deltas: Pick<Deltas, 'count' | 'keep'>;
  #read = 0;

  /** `deltas` counts the names and arguments that come, and what goes back with them. */
  constructor(deltas: Pick<Deltas, 'count' | 'keep'>) {
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
   * The whole calls. `cut`: the answer ended for its length, so a last call with incomplete arguments does not count.
   * Calls without a name are dropped, missing and repeated ids replaced.
   */
  finish(options: { cut: boolean }): { calls: TurnToolCall[]; extras: Map<string, JsonObject> } {
    const calls: TurnToolCall[] = [];
    const extras = new Map<string, JsonObject>();
    const ids = new Set<string>();
    for (const [position, slot] of this.#slots.entries()) {
      if (slot.name === '') continue;
      const text = wholeArguments(slot.arguments);
      if (options.cut && position === this.#slots.length - 1 && parseReadable(text) === undefined) continue;
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
    this.#deltas.count(name);
    this.#deltas.count(text);
    let slot = this.#find({ index, id, name });
    if (slot === undefined) {
      if (this.#slots.length >= MAX_CALLS) return;
      slot = { index, id, name, arguments: '', extra: undefined };
      this.#slots.push(slot);
    } else {
      if (slot.id === '') slot.id = id;
      // A name in pieces; a repeated one is the same name.
      if (name !== '' && name !== slot.name) slot.name = slot.arguments === '' ? slot.name + name : slot.name;
    }
    if (text !== '' && !(text === slot.arguments && text.length > 1 && this.#isWhole(text))) slot.arguments += text;
    slot.extra = this.#deltas.keep(fragment.extra_content) ?? slot.extra;
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
    // No id to tell calls apart: a name after complete arguments starts the next one.
    if (name !== '' && slot.arguments !== '' && this.#isWhole(slot.arguments)) return undefined;
    return slot;
  }

  /** Whether arguments are whole: JSON that ends as a value does. */
  #isWhole(text: string): boolean {
    if (!/["}\]]$/.test(text.slice(-LAST).trimEnd()) || this.#read > MOST_READ) return false;
    this.#read += text.length;
    return parseReadable(text) !== undefined;
  }
}

/** White space behind arguments that is looked over, in characters. */
const LAST = 64;

function indexOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : undefined;
}

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}

/** Arguments as sent, `{}` for none; some proxies send an empty object before the real ones. */
function wholeArguments(text: string): string {
  if (text.trim() === '') return '{}';
  const rest = text.replace(/^\s*\{\s*\}\s*(?=\{)/, '');
  return rest !== text && parseReadable(rest) !== undefined ? rest : text;
}

/** An id for a call that came without one. */
export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}
