import { isObject, type JsonObject } from '../../base/json.ts';

/** How much of one turn is stored for sending back, in characters. */
const MAX_STORED = 2 * 1024 * 1024;

const TEXT_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_opaque'] as const;

/** Fields of a message that are sent back as they came. */
export const REPLAY_FIELDS = [...TEXT_FIELDS, 'reasoning_details', 'thinking_blocks'] as const;

/**
 * Collects from the deltas of a turn what its provider wants back with the next one: `reasoning_content` (DeepSeek,
 * Moonshot), `reasoning`, `reasoning_details` (OpenRouter) and `thinking_blocks` (LiteLLM), whose fragments are joined,
 * `reasoning_opaque` (Copilot), and what was attached to tool calls.
 */
export class ReplayFields {
  readonly #texts = new Map<string, string>();
  readonly #details: JsonObject[] = [];
  readonly #blocks: JsonObject[] = [];
  #size = 0;

  push(delta: Record<string, unknown>): void {
    for (const field of TEXT_FIELDS) {
      const text = delta[field];
      if (typeof text === 'string') this.#text(field, text);
    }
    this.#join(this.#details, delta.reasoning_details);
    this.#join(this.#blocks, delta.thinking_blocks);
  }

  /** The fields, or undefined if there are none. `extras`: what was attached to tool calls, by call id. */
  finish(extras: ReadonlyMap<string, JsonObject>): JsonObject | undefined {
    const fields: JsonObject = { ...Object.fromEntries(this.#texts) };
    if (this.#details.length > 0) fields.reasoning_details = this.#details;
    if (this.#blocks.length > 0) fields.thinking_blocks = this.#blocks;
    if (extras.size > 0) fields.tool_call_extras = Object.fromEntries(extras);
    return Object.keys(fields).length > 0 ? fields : undefined;
  }

  #text(field: string, text: string): void {
    if (text === '' || !this.#fits(text.length)) return;
    this.#texts.set(field, (this.#texts.get(field) ?? '') + text);
  }

  #join(parts: JsonObject[], fragments: unknown): void {
    for (const fragment of Array.isArray(fragments) ? fragments : []) {
      const next = jsonCopy(fragment);
      if (next === undefined || !this.#fits(JSON.stringify(next).length)) continue;
      const last = parts.at(-1);
      if (last === undefined || !continues(last, next)) {
        parts.push(next);
        continue;
      }
      for (const [key, value] of Object.entries(next)) {
        if (typeof value === 'string' && TEXTS.has(key))
          last[key] = (typeof last[key] === 'string' ? last[key] : '') + value;
        else last[key] ||= value;
      }
    }
  }

  #fits(size: number): boolean {
    this.#size += size;
    return this.#size <= MAX_STORED;
  }
}

/** Fields whose fragments are joined; of others the first with a value counts. */
const TEXTS = new Set(['text', 'summary', 'data', 'thinking']);
/** What comes whole. */
const WHOLE = new Set<unknown>(['reasoning.encrypted', 'redacted_thinking']);

/** Whether a fragment continues the last part: it has the same type and index. A thinking block ends with its signature. */
function continues(last: JsonObject, next: JsonObject): boolean {
  return (
    last.type === next.type &&
    !WHOLE.has(last.type) &&
    !(last.type === 'thinking' && last.signature) &&
    (last.index ?? null) === (next.index ?? null) &&
    (last.id ?? next.id ?? null) === (next.id ?? last.id ?? null)
  );
}

/** A copy of a JSON object; undefined for anything else. */
function jsonCopy(value: unknown): JsonObject | undefined {
  return isObject(value) ? JSON.parse(JSON.stringify(value)) : undefined;
}
