import type { JsonObject } from '../../../base/json.ts';
import type { Adaptation, TurnMessage } from '../../turn.ts';

/** The messages with an instruction added to the end of the system message. */
export function withInstruction(messages: readonly TurnMessage[], instruction: string): TurnMessage[] {
  const at = messages.findIndex((message) => message.role === 'system');
  const system = messages[at];
  if (system?.role !== 'system') return [{ role: 'system', content: instruction }, ...messages];
  return messages.with(at, { role: 'system', content: `${system.content}\n\n${instruction}` });
}

/** The instruction that replaces `response_format` for providers without it. */
export function formatInstruction(format: JsonObject): string {
  const schema = typeof format.json_schema === 'object' ? JSON.stringify(format.json_schema) : undefined;
  const what =
    schema === undefined ? 'a single JSON object' : `a single JSON value that follows this schema: ${schema}`;
  return `Answer with ${what}. Write nothing before or after it.`;
}

/** The warning for a format that only the instructions describe. */
export const IN_WORDS: Adaptation = {
  param: 'text.format',
  message: 'The provider knows no such format: the model was asked for it in words.',
};
