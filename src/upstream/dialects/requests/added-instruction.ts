import type { TurnMessage } from '../../turn.ts';

/** The messages with one more instruction, at the end of the system message. */
export function withInstruction(messages: readonly TurnMessage[], instruction: string): TurnMessage[] {
  const at = messages.findIndex((message) => message.role === 'system');
  const system = messages[at];
  if (system?.role !== 'system') return [{ role: 'system', content: instruction }, ...messages];
  return messages.with(at, { role: 'system', content: `${system.content}\n\n${instruction}` });
}
