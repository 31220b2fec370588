import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { topLevelSpans } from '../../protocol/requests/json-spans.ts';
import { Continuation } from '../../research/answer/continuation.ts';
import type { Replacement } from '../replace-spans.ts';

/** The longest text that is kept for going on, in characters; a longer answer that breaks fails loudly. */
const MAX_TEXT = 1024 * 1024;
const GO_ON = { role: 'user', content: 'Go on exactly where you stopped. Repeat nothing.' };

/**
 * A streamed chat completion that several routes write one after the other, seen by the client as one: its id, what was
 * delivered, and what is held back because it cannot be taken back.
 */
export class ContinuedAnswer {
  /** Fields of the first chunk that all chunks have. */
  #envelope: JsonObject | undefined;
  #text = '';
  #hasRole = false;
  #hasReasoning = false;
  /** The chunks with tool calls of the route at hand: they go out when they are whole. */
  #calls: JsonObject[] = [];
  #continuation = new Continuation('');
  #isFirst = true;

  /** Whether the client has got anything. */
  get begun(): boolean {
    return this.#envelope !== undefined;
  }

  get envelope(): JsonObject {
    return this.#envelope ?? {};
  }

  /** Whether another route can go on. */
  get canGoOn(): boolean {
    return this.#text.length <= MAX_TEXT;
  }

  /** Another route begins. */
  restart(): void {
    this.#calls = [];
    this.#continuation = new Continuation(this.#text);
    this.#isFirst = !this.begun;
  }

  /** The chunks to send for one that came; several where something was held back. */
  accept(chunk: JsonObject): JsonObject[] {
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isJsonObject(choice)) return [this.#enveloped(chunk)];
    const delta = isJsonObject(choice.delta) ? choice.delta : {};
    const ends = choice.finish_reason !== null && choice.finish_reason !== undefined;
    const { content, ...rest } = this.#fresh(delta);
    const text = (typeof content === 'string' ? this.#continuation.push(content) : '') + (ends ? this.#rest() : '');
    this.#text += text;
    const sent: JsonObject = { ...rest, ...(text === '' ? {} : { content: text }) };
    const made = this.#enveloped({ ...chunk, choices: [{ ...choice, delta: sent }] });
    if (delta.tool_calls !== undefined || delta.function_call !== undefined) {
      this.#calls.push(made);
      if (!ends) return [];
      return this.#calls.splice(0);
    }
    if (ends) return [...this.#calls.splice(0), made];
    return Object.keys(sent).length === 0 && !this.#isFirst && chunk.usage === undefined ? [] : [made];
  }

  /** What a route is asked for that goes on: the request with the text so far as the answer's beginning. */
  changes(body: Buffer, { endsWithUser }: { endsWithUser: boolean }): Replacement[] {
    const [messages] = topLevelSpans(body, 'messages');
    if (this.#text === '' || !messages) return [];
    const told = [{ role: 'assistant', content: this.#text }, ...(endsWithUser ? [GO_ON] : [])];
    const text = told.map((message) => `,${JSON.stringify(message)}`).join('');
    return [{ start: messages.end - 1, end: messages.end - 1, text }];
  }

  #rest(): string {
    const rest = this.#continuation.end();
    this.#continuation = new Continuation('');
    return rest;
  }

  /** Without what the client has got already: the role, and the thoughts of a route before. */
  #fresh(delta: JsonObject): JsonObject {
    const { role, reasoning_content, reasoning, ...rest } = delta;
    const fresh: JsonObject = { ...rest };
    if (role !== undefined && !this.#hasRole) fresh.role = role;
    this.#hasRole ||= role !== undefined;
    if (!this.#isFirst && (this.#hasReasoning || this.#text !== '')) return fresh;
    if (reasoning_content !== undefined) fresh.reasoning_content = reasoning_content;
    if (reasoning !== undefined) fresh.reasoning = reasoning;
    if (this.#isFirst) this.#hasReasoning ||= Boolean(reasoning_content ?? reasoning);
    return fresh;
  }

  #enveloped(chunk: JsonObject): JsonObject {
    const { id, object, created, model } = chunk;
    // JSON leaves out what is undefined.
    this.#envelope ??= JSON.parse(JSON.stringify({ id, object, created, model }));
    return { ...chunk, ...this.#envelope };
  }
}

/** Whether an answer to this request could be continued: one choice of text, without what only its own model knows. */
export function isContinuable(body: Buffer): boolean {
  const request = parseJson(body.toString('utf8'));
  if (!isJsonObject(request) || !Array.isArray(request.messages)) return false;
  const { n, logprobs, modalities, audio } = request;
  const speaks =
    audio !== undefined || (Array.isArray(modalities) && modalities.some((modality) => modality !== 'text'));
  return (n === undefined || n === null || n === 1) && !logprobs && !speaks;
}
