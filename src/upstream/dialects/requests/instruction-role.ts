import type { JsonObject } from '../../../base/json.ts';
import { type Lesson, type RequestTraits, refuses } from './traits.ts';

/**
 * Who speaks the instructions: `system` nearly everywhere; some models want `developer`, and chat templates of others
 * (Gemma, early reasoning models) know neither, so that the instructions go in front of the first user message.
 */
export const learnInstructionRole: Lesson = ({ text }, traits) => {
  const role = traits.instructionRole;
  if (role === 'user' || !saysRoleRefused(text, role)) return false;
  traits.refusedRoles.add(role);
  const wantsDeveloper = role === 'system' && /\bdeveloper\b/i.test(text) && !traits.refusedRoles.has('developer');
  const wantsSystem = role === 'developer' && !traits.refusedRoles.has('system');
  traits.instructionRole = wantsDeveloper ? 'developer' : wantsSystem ? 'system' : 'user';
  return true;
};

/**
 * "'messages[0].role' does not support 'system'", "unknown variant `developer`, expected one of ...", "System role not
 * supported", "Developer instruction is not enabled", "Only user and assistant roles are supported".
 */
function saysRoleRefused(text: string, role: 'system' | 'developer'): boolean {
  if (/only user and assistant roles/i.test(text)) return true;
  const about =
    new RegExp(`\\b${role}\\b`, 'i').test(text) &&
    /\broles?\b|\bvariant\b|\binstructions?\b|system (?:message|prompt)/i.test(text);
  return about && refuses(text, role);
}

export function applyInstructionRole(messages: JsonObject[], traits: RequestTraits): JsonObject[] {
  if (traits.instructionRole === 'system') return messages;
  if (traits.instructionRole === 'developer') {
    return messages.map((message) => (message.role === 'system' ? { ...message, role: 'developer' } : message));
  }
  const instructions = messages
    .filter((message) => message.role === 'system')
    .map((message) => String(message.content));
  const rest = messages.filter((message) => message.role !== 'system');
  if (instructions.length === 0) return rest;
  const text = instructions.join('\n\n');
  const at = rest.findIndex((message) => message.role === 'user');
  const first = rest[at];
  if (first === undefined) return [{ role: 'user', content: text }, ...rest];
  return rest.with(at, { ...first, content: withPrefix(first.content, text) });
}

function withPrefix(content: JsonObject[string] | undefined, text: string): JsonObject[string] {
  if (Array.isArray(content)) return [{ type: 'text', text: `${text}\n\n` }, ...content];
  return `${text}\n\n${String(content ?? '')}`;
}
