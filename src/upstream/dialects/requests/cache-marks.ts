import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import type { RefusedParameters } from './refused-parameters.ts';
import { type ChatBody, refuses, type Trait } from './trait.ts';

interface CacheMarks {
  /** Whether chat completions carry cache marks: some providers cache only what is marked. */
  cacheMarks: boolean;
}

/** The names that gateways use for models whose providers cache only what is marked. */
const WANTS_MARKS = /(?:^|[/.:~-])claude(?:-|$)/i;
const WANTS_TEXT =
  /content.{0,80}(?:must be|should be|expected|valid|not) (?:a |an )?(?:valid )?(?:string|str\b|array|list)/i;

/** Cache marks, until they are refused: by relays that do not know them, or do not accept content in parts. */
export const cacheMarks: Trait<CacheMarks, CacheMarks & RefusedParameters> = {
  start: () => ({ cacheMarks: false }),
  learn({ text, body }, { refusedParameters: refused }) {
    if (refused.has('cache_control') || !JSON.stringify(body).includes('"cache_control"')) return false;
    if (!refuses(text, 'cache_control') && !WANTS_TEXT.test(text)) return false;
    refused.add('cache_control');
    return true;
  },
  shapeChat(body, traits, changing) {
    if (traits.cacheMarks && !traits.refusedParameters.has('cache_control')) markChat(body, changing);
  },
};

export function wantsCacheMarks(model: string): boolean {
  return WANTS_MARKS.test(model);
}

const MARK: JsonObject = { type: 'ephemeral' };
/** How many blocks back from a mark the provider looks for an earlier cache entry. */
const LOOK_BACK = 20;
/** Marks in the conversation. One more is at the end of the instructions, and four are allowed. */
const MAX_MARKS = 3;

/**
 * Adds the marks of gateways to Anthropic's models: at the end of the instructions and of the conversation, before the
 * messages that are `changing`: an entry that ends with them is paid for and never read.
 */
function markChat(body: ChatBody, changing: number): void {
  const messages = [...body.messages];
  const mark = (at: number): boolean => {
    const message = messages[at];
    const content = message && markedContent(message.content);
    if (message && content) messages[at] = { ...message, content };
    return content !== undefined;
  };
  const { role } = messages[0] ?? {};
  if (role === 'system' || role === 'developer') mark(0);
  markFromEnd(messages.length - 1 - changing, (at) => mark(at + 1));
  body.messages = messages;
}

/** The content with a mark at its end; undefined if it cannot be marked. */
function markedContent(content: JsonValue | undefined): JsonValue | undefined {
  if (typeof content === 'string' && content.trim() !== '') return [marked({ type: 'text', text: content })];
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  return Array.isArray(content) && isObject(last) ? [...content.slice(0, -1), marked(last)] : undefined;
}

export function marked(block: JsonObject): JsonObject {
  return { ...block, cache_control: MARK };
}

/** Marks the last of `length` blocks, and one more after every `LOOK_BACK`. `mark`: false if a block cannot be marked. */
export function markFromEnd(length: number, mark: (at: number) => boolean): void {
  let since = LOOK_BACK;
  let marks = 0;
  for (let at = length - 1; at >= 0 && marks < MAX_MARKS; at -= 1) {
    since += 1;
    if (since < LOOK_BACK || !mark(at)) continue;
    since = 0;
    marks += 1;
  }
}
