import type { JsonObject } from '../../../base/json.ts';
import type { AssistantMessage, TurnMessage, TurnTool } from '../../turn.ts';
import { withInstruction } from './added-instruction.ts';
import { sentArguments } from './tool-arguments.ts';
import type { Lesson } from './traits.ts';

/** Models or servers that take no `tools`: the tools are described in the instructions, calls are read from the text. */
export const learnToolProtocol: Lesson = ({ text, body }, traits) => {
  if (traits.toolProtocol === 'text' || !('tools' in body)) return false;
  const refused =
    // Ollama, OpenRouter, Groq, Perplexity and others.
    /(?:does not|doesn't|not|no).{0,30}\bsupport.{0,30}\b(?:tools?|function)\b/i.test(text) ||
    /\b(?:tools?|tool[_ ]choice|tool[_ ]use|tool[_ ]calling|function[_ ]calling|functions?)\b.{0,60}\b(?:not supported|unsupported|not enabled|not available|not allowed|not permitted)/i.test(
      text,
    ) ||
    // vLLM without a tool parser; llama.cpp without --jinja.
    /enable-auto-tool-choice|tools? param requires --jinja/i.test(text);
  if (refused) traits.toolProtocol = 'text';
  return refused;
};

/** The messages with tools, calls and results told in text. */
export function textProtocol(messages: readonly TurnMessage[], tools: readonly TurnTool[]): TurnMessage[] {
  const told: TurnMessage[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') told.push({ role: 'assistant', content: withCalls(message) });
    else if (message.role === 'tool') addResult(told, `<tool_response>\n${message.content}\n</tool_response>`);
    else told.push(message);
  }
  return tools.length === 0 ? told : withInstruction(told, toolDescription(tools));
}

function withCalls(message: AssistantMessage): string {
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${sentArguments(call.arguments)}}\n</tool_call>`,
  );
  return [message.content, ...calls].filter((text) => text !== '').join('\n');
}

/** Results of one turn go into one user message, as chat templates have it. */
function addResult(told: TurnMessage[], text: string): void {
  const last = told.at(-1);
  if (last?.role === 'user' && typeof last.content === 'string' && last.content.endsWith('</tool_response>')) {
    told.splice(-1, 1, { role: 'user', content: `${last.content}\n${text}` });
  } else told.push({ role: 'user', content: text });
}

function toolDescription(tools: readonly TurnTool[]): string {
  const lines = tools.map((tool) => {
    const signature: JsonObject = { name: tool.name, description: tool.description, parameters: tool.parameters };
    return JSON.stringify(signature);
  });
  return [
    '# Tools',
    'You may call one or more tools. They are described here, one JSON object a line:',
    `<tools>\n${lines.join('\n')}\n</tools>`,
    'To call a tool, write a JSON object with its name and arguments between tags, one pair of tags for each call:',
    '<tool_call>\n{"name": "<tool name>", "arguments": {"<parameter>": "<value>"}}\n</tool_call>',
    'Then stop: the results come in the next message between <tool_response> tags. Never write results yourself.',
  ].join('\n');
}
