import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type { Lesson, RequestTraits } from './traits.ts';

/** Chat templates that raise unless user and assistant take turns, and APIs that want the last word to be the user's. */
export const learnMessageOrder: Lesson = ({ text }, traits) => {
  if (
    !traits.alternatingRoles &&
    /roles? must alternate|alternate user\/assistant|must alternate between/i.test(text)
  ) {
    traits.alternatingRoles = true;
    return true;
  }
  const wantsUser =
    /expected last role user|last message must be|must end with a user|prefill|last message.{0,40}(?:role|from) ['"`]?user/i;
  if (!traits.endsWithUser && wantsUser.test(text)) {
    traits.endsWithUser = true;
    return true;
  }
  return false;
};

export function applyMessageOrder(messages: JsonObject[], traits: RequestTraits): JsonObject[] {
  const ordered = traits.alternatingRoles ? joined(messages) : messages;
  if (traits.endsWithUser && ordered.at(-1)?.role === 'assistant') {
    return [...ordered, { role: 'user', content: 'Go on exactly where you stopped. Repeat nothing.' }];
  }
  return ordered;
}

function joined(messages: readonly JsonObject[]): JsonObject[] {
  const result: JsonObject[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    const joins = last && last.role === message.role && message.role !== 'tool' && !last.tool_calls;
    if (joins) result.splice(-1, 1, { ...last, ...message, content: join(last.content, message.content) });
    else result.push(message);
  }
  return result;
}

function join(a: JsonValue | undefined, b: JsonValue | undefined): JsonValue {
  if (Array.isArray(a) || Array.isArray(b)) return [...parts(a), ...parts(b)];
  return [a, b].filter((text) => text !== null && text !== undefined && text !== '').join('\n\n');
}

function parts(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return content ? [{ type: 'text', text: String(content) }] : [];
}
