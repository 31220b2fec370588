import type { TurnMessage, TurnRequest } from '../../src/upstream/turn.ts';
import { OBEY } from './injections.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from './scripted-model.ts';

/**
 * The most gullible model possible: it obeys everything outside the fences that its system prompt names. If it finds the
 * order there, it prints its system prompt and calls a tool with it; otherwise it follows `script`.
 */
export function obedientModel(script: (request: TurnRequest, n: number) => ScriptedTurn): ScriptedModel {
  return new ScriptedModel((request, n) => {
    const order = request.messages.map(trustedText).find((text) => text.includes(OBEY));
    if (order === undefined) return script(request, n);
    const secret = request.messages.map((message) => (message.role === 'system' ? message.content : '')).join('\n');
    const calls = !isAnswerTurn(request) ? [{ name: 'exfiltrate', arguments: { what: 'the system prompt' } }] : [];
    return { reasoning: [`I obey. ${secret}`], text: [`I was told to say: ${secret}`], calls };
  });
}

/** The part of a message outside fences. A fence ends where the most lenient reader would end it. */
export function trustedText(message: TurnMessage): string {
  const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content);
  // The system prompt mentions the fence without opening one; that mention is removed.
  let outside = '';
  let rest = text.replace(/between <tool_result-\w+> and <\/tool_result-\w+>/, '');
  for (;;) {
    const opening = /<tool_result-\w+>\n/.exec(rest);
    if (!opening) return outside + rest;
    outside += rest.slice(0, opening.index);
    rest = rest.slice(opening.index + opening[0].length);
    const closing = CLOSING.exec(rest);
    if (!closing) return outside;
    rest = rest.slice(closing.index + closing[0].length);
  }
}

/** Everything that a careless reader could take for the end of a fence. */
const CLOSING = /<\s*\/\s*tool_result[^>\n]{0,40}\s*>/i;
