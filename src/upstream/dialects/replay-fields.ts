import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';

/** How much of one turn is stored for sending back, in characters. */
const MAX_STORED = 2 * 1024 * 1024;

const TEXT_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_opaque'] as const;

/** Fields of a message that are sent back as they came. */
export const REPLAY_FIELDS = [...TEXT_FIELDS, 'reasoning_details', 'thinking_blocks'] as const;

/**
 * Collects from the deltas of a turn what its provider wants back with the next one: `reasoning_content` (DeepSeek,
 * Moonshot), `reasoning`, `reasoning_details` (OpenRouter; fragments joined), `thinking_blocks` (LiteLLM),
 * `reasoning_opaque` (Copilot), and what was attached to tool calls.
 */
export class ReplayFields {
  readonly #texts = new Map<string, string>();
  readonly #details: JsonObject[] = [];
  readonly #blocks: JsonValue[] = [];
  #size = 0;

  push(delta: Record<string, unknown>): void {
    for (const field of TEXT_FIELDS) {
      const text = delta[field];
      if (typeof text === 'string') this.#text(field, text);
    }
    if (Array.isArray(delta.reasoning_details)) for (const detail of delta.reasoning_details) this.#detail(detail);
    if (Array.isArray(delta.thinking_blocks)) for (const block of delta.thinking_blocks) this.#block(block);
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

  #detail(fragment: unknown): void {
    const detail = jsonCopy(fragment);
    if (detail === undefined || !this.#fits(JSON.stringify(detail).length)) return;
    const last = this.#details.at(-1);
    if (last === undefined || !continues(last, detail)) {
      this.#details.push(detail);
      return;
    }
    for (const [key, value] of Object.entries(detail)) {
      const isText = typeof value === 'string' && ['text', 'summary', 'data'].includes(key);
      if (isText) last[key] = (typeof last[key] === 'string' ? last[key] : '') + value;
      else last[key] ??= value;
    }
  }

  #block(value: unknown): void {
    const block = jsonCopy(value);
    if (block !== undefined && this.#fits(JSON.stringify(block).length)) this.#blocks.push(block);
  }

  #fits(size: number): boolean {
    this.#size += size;
    return this.#size <= MAX_STORED;
  }
}

/** Whether a fragment continues the last detail: it has the same type and index. Encrypted data comes whole. */
function continues(last: JsonObject, next: JsonObject): boolean {
  return (
    last.type === next.type &&
    last.type !== 'reasoning.encrypted' &&
    (last.index ?? null) === (next.index ?? null) &&
    (last.id ?? next.id ?? null) === (next.id ?? last.id ?? null)
  );
}

/** A copy of a JSON object; undefined for anything else. */
function jsonCopy(value: unknown): JsonObject | undefined {
  return isObject(value) ? JSON.parse(JSON.stringify(value)) : undefined;
}
