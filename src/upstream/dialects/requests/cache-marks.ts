import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { type Lesson, refuses } from './traits.ts';

const MARK: JsonObject = { type: 'ephemeral' };
/** A mark finds what was cached before it within so many blocks. */
const LOOK_BACK = 20;
/** Marks behind the instructions; there may be four in all. */
const MOST = 3;

/** Models whose providers cache only what is marked, by the names that gateways in front of them have for them. */
const WANTS_MARKS = /(?:^|[/.:~-])claude(?:-|$)/i;

export function wantsCacheMarks(model: string): boolean {
  return WANTS_MARKS.test(model);
}

/**
 * Marks where the cache ends, on the messages of a chat completion as gateways in front of Anthropic's models take it:
 * behind the instructions, with the tools before them, and at the end of the conversation.
 */
export function withCacheMarks(messages: readonly JsonObject[]): JsonObject[] {
  const marked = [...messages];
  const mark = (at: number): boolean => {
    const message = marked[at];
    const content = message && markedContent(message.content);
    if (message && content) marked[at] = { ...message, content };
    return content !== undefined;
  };
  const isInstruction = ({ role }: JsonObject) => role === 'system' || role === 'developer';
  if (marked[0] && isInstruction(marked[0])) mark(0);
  let since = LOOK_BACK;
  let marks = 0;
  for (let at = marked.length - 1; at > 0 && marks < MOST; at -= 1) {
    since += 1;
    if (since < LOOK_BACK || !mark(at)) continue;
    since = 0;
    marks += 1;
  }
  return marked;
}

/** The content with a mark at its end; undefined where there is nothing to mark. */
function markedContent(content: JsonValue | undefined): JsonValue | undefined {
  if (typeof content === 'string') {
    return content.trim() === '' ? undefined : [{ type: 'text', text: content, cache_control: MARK }];
  }
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  if (!Array.isArray(content) || typeof last !== 'object' || last === null || Array.isArray(last)) return undefined;
  return [...content.slice(0, -1), { ...last, cache_control: MARK }];
}

/** Relays that know no marks for the cache, or no content in parts. */
export const learnCacheMarks: Lesson = ({ text, body }, traits) => {
  if (traits.refusedParameters.has('cache_control') || !JSON.stringify(body).includes('"cache_control"')) return false;
  if (!refuses(text, 'cache_control') && !WANTS_TEXT.test(text)) return false;
  traits.refusedParameters.add('cache_control');
  return true;
};

const WANTS_TEXT =
  /content.{0,80}(?:must be|should be|expected|valid|not) (?:a |an )?(?:valid )?(?:string|str\b|array|list)/i;
