import type { TurnMessage, TurnTool } from '../upstream/turn.ts';

/** Counting tokens where no provider has told: an estimate that errs on the side of too many. */

/** A rough count: about four characters a token, about one for scripts that are written without spaces. */
export function estimateTokens(text: string): number {
  const wide = text.length - text.replace(WIDE, '').length;
  return Math.ceil((text.length - wide) / 4 + wide);
}

const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/g;

/** What a provider adds around each message. */
const MESSAGE_OVERHEAD = 6;
/** What an image costs, whatever its size. */
const IMAGE_TOKENS = 1000;

/** The estimated size of a request. */
export function estimateRequest(messages: readonly TurnMessage[], tools: readonly TurnTool[] = []): number {
  let tokens = tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0;
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

function estimateMessage(message: TurnMessage): number {
  let tokens = MESSAGE_OVERHEAD;
  if (typeof message.content === 'string') tokens += estimateTokens(message.content);
  else for (const part of message.content) tokens += part.type === 'text' ? estimateTokens(part.text) : IMAGE_TOKENS;
  if (message.role === 'assistant') {
    for (const call of message.tool_calls ?? [])
      tokens += MESSAGE_OVERHEAD + estimateTokens(call.name + call.arguments);
    if (message.replay) tokens += estimateTokens(JSON.stringify(message.replay.fields));
  }
  return tokens;
}
