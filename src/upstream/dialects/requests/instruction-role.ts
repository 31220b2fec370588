import type { JsonObject } from '../../../base/json.ts';
import { refuses, type Trait } from './trait.ts';

interface InstructionRole {
  /** The role of the instructions; `user`: they go into the first user message. */
  instructionRole: 'system' | 'developer' | 'user';
  refusedRoles: Set<'system' | 'developer'>;
}

/**
 * The role of the instructions: `system` nearly everywhere. Some models want `developer`, and the chat templates of others
 * (Gemma, early reasoning models) know neither, so the instructions go before the first user message.
 */
export const instructionRole: Trait<InstructionRole> = {
  start: () => ({ instructionRole: 'system', refusedRoles: new Set() }),
  learn({ text }, traits) {
    const role = traits.instructionRole;
    if (role === 'user' || !saysRoleRefused(text, role)) return false;
    traits.refusedRoles.add(role);
    const wantsDeveloper = role === 'system' && /\bdeveloper\b/i.test(text) && !traits.refusedRoles.has('developer');
    const wantsSystem = role === 'developer' && !traits.refusedRoles.has('system');
    traits.instructionRole = wantsDeveloper ? 'developer' : wantsSystem ? 'system' : 'user';
    return true;
  },
  shapeChat(body, { instructionRole: role }) {
    if (role === 'user') body.messages = mergedIntoUser(body.messages);
    else if (role === 'developer') {
      body.messages = body.messages.map((message) => (message.role === 'system' ? { ...message, role } : message));
    }
  },
  findings: ({ instructionRole: role }, before) =>
    role === before.instructionRole ? [] : [`instructions go to ${role}`],
};

/**
 * "'messages[0].role' does not support 'system'", "unknown variant `developer`, expected one of ...", "System role not
 * supported", "Developer instruction is not enabled", "Only user and assistant roles are supported", "Only user, assistant
 * and tool roles are supported".
 */
function saysRoleRefused(text: string, role: 'system' | 'developer'): boolean {
  if (/only user(?: and|,) assistant (?:and tool )?roles/i.test(text)) return true;
  const isAboutRole =
    new RegExp(`\\b${role}\\b`, 'i').test(text) &&
    /\broles?\b|\bvariant\b|\binstructions?\b|system (?:message|prompt)/i.test(text);
  return isAboutRole && refuses(text, role);
}

function mergedIntoUser(messages: readonly JsonObject[]): JsonObject[] {
  const { system = [], rest = [] } = Object.groupBy(messages, ({ role }) => (role === 'system' ? 'system' : 'rest'));
  if (system.length === 0) return rest;
  const text = system.map((message) => String(message.content)).join('\n\n');
  const at = rest.findIndex((message) => message.role === 'user');
  const first = rest[at];
  if (first === undefined) return [{ role: 'user', content: text }, ...rest];
  const content = Array.isArray(first.content)
    ? [{ type: 'text', text: `${text}\n\n` }, ...first.content]
    : `${text}\n\n${String(first.content ?? '')}`;
  return rest.with(at, { ...first, content });
}
