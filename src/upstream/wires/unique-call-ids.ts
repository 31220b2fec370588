import { hash } from 'node:crypto';
import type { TurnMessage } from '../turn.ts';

export interface CallIdRules {
  pattern: RegExp;
  longest: number;
}

/**
 * The messages with ids of calls that a provider accepts: of its shape, and each used once. Several providers begin
 * again with `call_0` in every answer, others refuse a history in which an id stands twice. Calls and results change
 * together; the same history always becomes the same.
 */
export function withUniqueCallIds(messages: readonly TurnMessage[], rules: CallIdRules): TurnMessage[] {
  const used = new Set<string>();
  let current = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === 'tool') {
      const id = current.get(message.tool_call_id) ?? accepted(message.tool_call_id, rules);
      return { ...message, tool_call_id: id };
    }
    if (message.role !== 'assistant' || !message.tool_calls) return message;
    current = new Map();
    const calls = message.tool_calls.map((call) => {
      let id = accepted(call.id, rules);
      for (let n = used.size; used.has(id); n += 1) id = accepted(`${call.id} ${n}`, rules);
      used.add(id);
      current.set(call.id, id);
      return { ...call, id };
    });
    return { ...message, tool_calls: calls };
  });
}

function accepted(id: string, { pattern, longest }: CallIdRules): string {
  if (id.length <= longest && pattern.test(id)) return id;
  return `call_${hash('sha256', id).slice(0, 24)}`;
}
