import type { TurnMessage, TurnTool } from '../../upstream/turn.ts';

/** Counting tokens where no provider has told. */

/** An estimate that errs on the side of too many: a request that is thought too large is cut, one that is fails. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let before = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) tokens += code >= FIRST_WIDE ? WIDE_TOKENS : OTHER_SCRIPT_TOKENS;
    else tokens += (code === before ? REPEATED_TOKENS[code] : ASCII_TOKENS[code]) ?? 0;
    before = code;
  }
  return Math.ceil(tokens);
}

/** From here on scripts are written without spaces: about one token a character. */
const FIRST_WIDE = 0x2e80;
const WIDE_TOKENS = 1;
const OTHER_SCRIPT_TOKENS = 0.5;
const ASCII_TOKENS = Float64Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z ]/.test(character)) return 0.25;
  return /[0-9]/.test(character) ? 0.4 : 0.6;
});
/** Indents, rules and borders of tables: a run of the same character is few tokens. */
const REPEATED_TOKENS = ASCII_TOKENS.map((tokens, code) =>
  /[\s\-=*_.#]/.test(String.fromCharCode(code)) ? 0.1 : tokens,
);

/** The fewest tokens that `text` can be, whatever counts them: to tell a text that is too long beyond doubt. */
export function leastTokens(text: string): number {
  const { length } = text.replace(RUNS, '$1');
  const wide = text.match(WIDE)?.length ?? 0;
  return (length - wide) / 5.5 + wide * 0.55;
}

const RUNS = /([\s\-=*_.#|])\1+/g;
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
