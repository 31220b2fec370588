import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import type { RefusedParameters } from './refused-parameters.ts';
import { type ChatBody, refuses, type Trait } from './trait.ts';

interface CacheMarks {
  /** Whether the cache is marked in the messages of a chat completion: some providers cache nothing else. */
  cacheMarks: boolean;
}

/** Models whose providers cache only what is marked, by the names that gateways in front of them have for them. */
const WANTS_MARKS = /(?:^|[/.:~-])claude(?:-|$)/i;
const WANTS_TEXT =
  /content.{0,80}(?:must be|should be|expected|valid|not) (?:a |an )?(?:valid )?(?:string|str\b|array|list)/i;

/** Relays refuse marks that they do not know, and so do those that know no content in parts. */
export const cacheMarks: Trait<CacheMarks, CacheMarks & RefusedParameters> = {
  start: () => ({ cacheMarks: false }),
  learn({ text, body }, { refusedParameters: refused }) {
    if (refused.has('cache_control') || !JSON.stringify(body).includes('"cache_control"')) return false;
    if (!refuses(text, 'cache_control') && !WANTS_TEXT.test(text)) return false;
    refused.add('cache_control');
    return true;
  },
  shapeChat(body, traits) {
    if (traits.cacheMarks && !traits.refusedParameters.has('cache_control')) markChat(body);
  },
};

export function wantsCacheMarks(model: string): boolean {
  return WANTS_MARKS.test(model);
}

const MARK: JsonObject = { type: 'ephemeral' };
/** A mark finds what was cached before it within so many blocks. */
const LOOK_BACK = 20;
/** Marks in the conversation; one more stands behind the instructions, and there may be four. */
const MOST = 3;

/** As gateways in front of Anthropic's models take it: behind the instructions, and at the end of the conversation. */
function markChat(body: ChatBody): void {
  const messages = [...body.messages];
  const mark = (at: number): boolean => {
    const message = messages[at];
    const content = message && markedContent(message.content);
    if (message && content) messages[at] = { ...message, content };
    return content !== undefined;
  };
  const { role } = messages[0] ?? {};
  if (role === 'system' || role === 'developer') mark(0);
  markFromEnd(messages.length - 1, (at) => mark(at + 1));
  body.messages = messages;
}

/** The content with a mark at its end; undefined if nothing in it can be marked. */
function markedContent(content: JsonValue | undefined): JsonValue | undefined {
  if (typeof content === 'string' && content.trim() !== '') return [marked({ type: 'text', text: content })];
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  return Array.isArray(content) && isObject(last) ? [...content.slice(0, -1), marked(last)] : undefined;
}

export function marked(block: JsonObject): JsonObject {
  return { ...block, cache_control: MARK };
}

/** Marks the end of `length` blocks, and further ones where a mark looks back no further. `mark`: false if it cannot. */
export function markFromEnd(length: number, mark: (at: number) => boolean): void {
  let since = LOOK_BACK;
  let marks = 0;
  for (let at = length - 1; at >= 0 && marks < MOST; at -= 1) {
    since += 1;
    if (since < LOOK_BACK || !mark(at)) continue;
    since = 0;
    marks += 1;
  }
}
