import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface MessageOrder {
  /** Roles must alternate, so neighbours of one role are joined. */
  alternatingRoles: boolean;
  /** The last message must not be the assistant's. */
  endsWithUser: boolean;
}

/** The user message that is added where a request must not end with the assistant's. */
export const CONTINUE_PROMPT = 'Go on exactly where you stopped. Repeat nothing.';

const WORDINGS = {
  alternatingRoles: /roles? must alternate|alternate user\/assistant|must alternate between/i,
  endsWithUser:
    /expected last role user|last message must be|must end with a user|prefill|last message.{0,40}(?:role|from) ['"`]?user/i,
};

/** Chat templates that raise unless roles alternate, and APIs that want the last message to be the user's. */
export const messageOrder: Trait<MessageOrder> = {
  start: () => ({ alternatingRoles: false, endsWithUser: false }),
  learn({ text }, traits) {
    const learned = (['alternatingRoles', 'endsWithUser'] as const).find(
      (name) => !traits[name] && WORDINGS[name].test(text),
    );
    if (learned) traits[learned] = true;
    return learned !== undefined;
  },
  shapeChat(body, traits) {
    if (traits.alternatingRoles) body.messages = joinNeighbours(body.messages);
    if (traits.endsWithUser && body.messages.at(-1)?.role === 'assistant') {
      body.messages = [...body.messages, { role: 'user', content: CONTINUE_PROMPT }];
    }
  },
  findings: ({ alternatingRoles }, before) =>
    alternatingRoles && !before.alternatingRoles ? ['roles must alternate'] : [],
};

function joinNeighbours(messages: readonly JsonObject[]): JsonObject[] {
  const result: JsonObject[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    const joins = last && last.role === message.role && message.role !== 'tool' && !last.tool_calls;
    if (joins) result.splice(-1, 1, { ...last, ...message, content: joinContents(last.content, message.content) });
    else result.push(message);
  }
  return result;
}

function joinContents(a: JsonValue | undefined, b: JsonValue | undefined): JsonValue {
  if (Array.isArray(a) || Array.isArray(b)) return [...parts(a), ...parts(b)];
  return [a, b].filter((text) => text !== null && text !== undefined && text !== '').join('\n\n');
}

function parts(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return content ? [{ type: 'text', text: String(content) }] : [];
}
