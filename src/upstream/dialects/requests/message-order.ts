import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface MessageOrder {
  /** Roles must alternate, so neighbours of one role are joined. */
  alternatingRoles: boolean;
  /** Only the first message may be the system's, as the chat templates of Qwen3.5 and Ministral want. */
  systemFirst: boolean;
  /** The last message must not be the assistant's. */
  endsWithUser: boolean;
}

/** The user message that is added where a request must not end with the assistant's. */
export const CONTINUE_PROMPT = 'Go on exactly where you stopped. Repeat nothing.';

const WORDINGS = {
  alternatingRoles: /roles? must alternate|alternate user\/assistant|must alternate between/i,
  systemFirst: /system message must be (?:at the beginning|(?:the )?first)|roles are supported, got system/i,
  endsWithUser:
    /expected last role user|last message must be|must end with a user|prefill|last message.{0,40}(?:role|from) ['"`]?user/i,
};

/** Chat templates that raise unless roles alternate, or at a system message further down, and APIs that want the last message to be the user's. */
export const messageOrder: Trait<MessageOrder> = {
  start: () => ({ alternatingRoles: false, systemFirst: false, endsWithUser: false }),
  learn({ text }, traits) {
    const learned = (['alternatingRoles', 'systemFirst', 'endsWithUser'] as const).find(
      (name) => !traits[name] && WORDINGS[name].test(text),
    );
    if (learned) traits[learned] = true;
    return learned !== undefined;
  },
  shapeChat(body, traits) {
    if (traits.systemFirst) body.messages = withSystemFirst(body.messages);
    if (traits.alternatingRoles) body.messages = joinNeighbours(body.messages);
    if (traits.endsWithUser && body.messages.at(-1)?.role === 'assistant') {
      body.messages = [...body.messages, { role: 'user', content: CONTINUE_PROMPT }];
    }
  },
  findings: ({ alternatingRoles, systemFirst }, before) => [
    ...(alternatingRoles && !before.alternatingRoles ? ['roles must alternate'] : []),
    ...(systemFirst && !before.systemFirst ? ["only the first message may be the system's"] : []),
  ],
};

/** The first messages of the system in one; later ones become the user's, so that they stay where they are. */
function withSystemFirst(messages: readonly JsonObject[]): JsonObject[] {
  const isSystem = ({ role }: JsonObject) => role === 'system' || role === 'developer';
  const end = messages.findIndex((message) => !isSystem(message));
  if (end === -1) return joinNeighbours(messages);
  const later = messages.slice(end).map((message) => (isSystem(message) ? { ...message, role: 'user' } : message));
  return [...joinNeighbours(messages.slice(0, end)), ...later];
}

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
