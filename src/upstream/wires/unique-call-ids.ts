import { hash } from 'node:crypto';
import type { TurnMessage } from '../turn.ts';

export interface CallIdRules {
  pattern: RegExp;
  maxLength: number;
}

/**
 * The messages with call ids that a provider accepts: of its form, and each used once. Several providers start again at
 * `call_0` in every answer, others refuse a history in which an id occurs twice. Calls and results change together, and
 * the same history always gets the same ids.
 */
export function withUniqueCallIds(messages: readonly TurnMessage[], rules: CallIdRules): TurnMessage[] {
  const used = new Set<string>();
  let current = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === 'tool') {
      const id = current.get(message.tool_call_id) ?? acceptedId(message.tool_call_id, rules);
      return { ...message, tool_call_id: id };
    }
    if (message.role !== 'assistant' || !message.tool_calls) return message;
    current = new Map();
    const calls = message.tool_calls.map((call) => {
      let id = acceptedId(call.id, rules);
      for (let n = used.size; used.has(id); n += 1) id = acceptedId(`${call.id} ${n}`, rules);
      used.add(id);
      current.set(call.id, id);
      return { ...call, id };
    });
    return { ...message, tool_calls: calls };
  });
}

function acceptedId(id: string, { pattern, maxLength }: CallIdRules): string {
  if (id.length <= maxLength && pattern.test(id)) return id;
  return `call_${hash('sha256', id).slice(0, 24)}`;
}
