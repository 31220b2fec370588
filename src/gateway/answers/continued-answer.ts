import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../base/json.ts';
import { topLevelSpans } from '../../protocol/requests/json-spans.ts';
import { Continuation } from '../../research/answer/continuation.ts';
import { partsOf, saysSomething } from '../../upstream/provider-answer.ts';
import type { Replacement } from '../proxied-request.ts';

/** The longest text and calls that can be continued, in characters; a longer answer that breaks off ends with an error. */
const MAX_LENGTH = 1024 * 1024;
const CONTINUE_MESSAGE = { role: 'user', content: 'Go on exactly where you stopped. Repeat nothing.' };

/**
 * A streamed chat completion that several routes write one after the other, and the client sees as one. It keeps the id,
 * the delivered text, and tool calls, which are held back until they are complete because they cannot be revoked: as long as
 * the answer can be continued.
 */
export class ContinuedAnswer {
  /** The fields of the first chunk that all chunks repeat. */
  #envelope: JsonObject | undefined;
  #text = '';
  #hasRole = false;
  #hasReasoning = false;
  /** The current route's chunks with tool calls, which are sent when the calls are complete. */
  #bufferedCalls: JsonObject[] = [];
  /** The length of its calls as JSON, in characters. */
  #callsLength = 0;
  #continuation = new Continuation('');
  #isFirstRoute = true;
  #hasMedia = false;

  /** Whether the client has got any chunk. */
  get hasStarted(): boolean {
    return this.#envelope !== undefined;
  }

  get envelope(): JsonObject {
    return this.#envelope ?? {};
  }

  /** Whether another route can continue the answer: images and sound would be made, and paid, again. */
  get canContinue(): boolean {
    return !this.#hasMedia && Math.max(this.#text.length, this.#callsLength) <= MAX_LENGTH;
  }

  /** A further route starts to write. */
  startRoute(): void {
    this.#bufferedCalls = [];
    this.#callsLength = 0;
    this.#continuation = new Continuation(this.#text);
    this.#isFirstRoute = !this.hasStarted;
  }

  /** The chunks to send for one that arrived; several if tool calls were held back. */
  accept(chunk: JsonObject): JsonObject[] {
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isJsonObject(choice)) return [this.#withEnvelope(chunk)];
    const delta = isJsonObject(choice.delta) ? choice.delta : {};
    const isLast = choice.finish_reason !== null && choice.finish_reason !== undefined;
    const { content, ...rest } = this.#unsentDelta(delta);
    this.#hasMedia ||= saysSomething([delta.images, delta.audio]) || hasImage(content);
    const text = this.#continuation.push(textOf(content)) + (isLast ? this.#endText() : '');
    this.#text += text;
    const sent = this.#isFirstRoute && Array.isArray(content) ? content : text;
    const sentDelta: JsonObject = { ...rest, ...(sent === '' ? {} : { content: sent }) };
    const enveloped = (part: JsonObject) => this.#withEnvelope({ ...chunk, choices: [{ ...choice, delta: part }] });
    // Some servers send null or an empty list with every delta.
    if (!isLast && [delta.tool_calls, delta.function_call].flat().some(Boolean)) {
      const { tool_calls, function_call, ...said } = sentDelta;
      const calls = { ...(tool_calls && { tool_calls }), ...(function_call && { function_call }) };
      this.#callsLength += JSON.stringify(calls).length;
      this.#bufferedCalls.push(enveloped(calls));
      const sayings = Object.keys(said).length === 0 ? [] : [enveloped(said)];
      return this.canContinue ? sayings : [...sayings, ...this.#bufferedCalls.splice(0)];
    }
    if (isLast) return [...this.#bufferedCalls.splice(0), enveloped(sentDelta)];
    return Object.keys(sentDelta).length === 0 && !this.#isFirstRoute && chunk.usage === undefined
      ? []
      : [enveloped(sentDelta)];
  }

  /** The changes to the request of a route that continues the answer: the text so far becomes its beginning. */
  changes(body: Buffer, { endsWithUser }: { endsWithUser: boolean }): Replacement[] {
    const [messages] = topLevelSpans(body, 'messages');
    if (this.#text === '' || !messages) return [];
    const added = [{ role: 'assistant', content: this.#text }, ...(endsWithUser ? [CONTINUE_MESSAGE] : [])];
    const text = added.map((message) => `,${JSON.stringify(message)}`).join('');
    return [{ start: messages.end - 1, end: messages.end - 1, text }];
  }

  #endText(): string {
    const rest = this.#continuation.end();
    this.#continuation = new Continuation('');
    return rest;
  }

  /** The delta without what the client has already: the role, and the thoughts of an earlier route. */
  #unsentDelta(delta: JsonObject): JsonObject {
    const { role, reasoning_content, reasoning, ...rest } = delta;
    const fresh: JsonObject = { ...rest };
    if (role !== undefined && !this.#hasRole) fresh.role = role;
    this.#hasRole ||= role !== undefined;
    if (!this.#isFirstRoute && (this.#hasReasoning || this.#text !== '')) return fresh;
    if (reasoning_content !== undefined) fresh.reasoning_content = reasoning_content;
    if (reasoning !== undefined) fresh.reasoning = reasoning;
    if (this.#isFirstRoute) this.#hasReasoning ||= Boolean(reasoning_content ?? reasoning);
    return fresh;
  }

  #withEnvelope(chunk: JsonObject): JsonObject {
    const { id, object, created, model } = chunk;
    // Through JSON, which leaves out undefined fields.
    this.#envelope ??= JSON.parse(JSON.stringify({ id, object, created, model }));
    return { ...chunk, ...this.#envelope };
  }
}

function hasImage(content: JsonValue | undefined): boolean {
  return Array.isArray(content) && partsOf(content).some(({ kind }) => kind === 'image');
}

/** The text of a delta's content, which may be a list of parts. */
function textOf(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return [...partsOf(content)].map(({ kind, text }) => (kind === 'text' ? text : '')).join('');
}

/** Whether an answer to this request could be continued: it has one choice of text, and nothing only its own model knows. */
export function isContinuable(body: Buffer): boolean {
  const request = parseJson(body.toString('utf8'));
  if (!isJsonObject(request) || !Array.isArray(request.messages)) return false;
  const { n, logprobs, modalities, audio } = request;
  const isSpoken =
    audio !== undefined || (Array.isArray(modalities) && modalities.some((modality) => modality !== 'text'));
  return (n === undefined || n === null || n === 1) && !logprobs && !isSpoken;
}
